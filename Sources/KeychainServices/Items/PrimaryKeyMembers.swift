import Foundation
import Keyfob

/// The primary key attributes of a class, which are returned with an empty value if the item lacks them.
///
/// Attributes that every class has, such as the access group, are not included.
struct PrimaryKeyMembers: Sendable {
    /// The primary key attributes that an item has.
    struct Given {
        /// One bit for each index.
        fileprivate var places: UInt32 = 0
    }

    private let members: [(name: AttributeName, value: AttributeValue)]
    private let index: AttributeIndex

    /// Returns the primary key attributes of a class.
    static func of(_ itemClass: ItemClass) -> PrimaryKeyMembers {
        switch itemClass {
        case .genericPassword: genericPassword
        case .internetPassword: internetPassword
        case .certificate: certificate
        case .key: key
        case .identity: identity
        }
    }

    /// Records that an item has an attribute.
    func note(_ name: AttributeName, in given: inout Given) {
        if let place = index[name] { given.places |= 1 << UInt32(place) }
    }

    /// Returns the names and empty values of the attributes that an item lacks.
    func empty(but given: Given) -> [(name: AttributeName, value: AttributeValue)] {
        members.indices.filter { given.places & 1 << UInt32($0) == 0 }.map { members[$0] }
    }

    /// Whether attributes name all of them.
    func areNamed(in attributes: ItemAttributes) -> Bool { members.allSatisfy { attributes[$0.name] != nil } }

    private static let genericPassword = PrimaryKeyMembers(.genericPassword)
    private static let internetPassword = PrimaryKeyMembers(.internetPassword)
    private static let certificate = PrimaryKeyMembers(.certificate)
    private static let key = PrimaryKeyMembers(.key)
    private static let identity = PrimaryKeyMembers(.identity)

    private static let common: Set<AttributeName> = [
        .accessGroup, .synchronizable, .syncViewHint, .tokenID, .multiUser, .sharingGroup,
    ]

    private init(_ itemClass: ItemClass) {
        members = ClassSchema.of(itemClass).primaryKey.filter { !Self.common.contains($0.name) }.map { definition in
            let value: AttributeValue = switch definition.kind {
            case .blob, .string: ""
            case .data: .data(Data())
            case .number: 0
            case .date: .date(Date(timeIntervalSinceReferenceDate: 0))
            }
            return (definition.name, value)
        }
        index = AttributeIndex(members.map(\.name))
    }
}
