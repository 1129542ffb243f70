import Foundation
import Keyfob

/// What a class tells of its primary key where nobody said it: the empty value (apple-secitem 1.2).
///
/// What every class has, the access group and the like, is not among it.
struct PrimaryKeyMembers: Sendable {
    /// The attributes that an item was found to have.
    struct Given {
        /// A bit for each place.
        fileprivate var places: UInt32 = 0
    }

    private let members: [(name: AttributeName, value: AttributeValue)]
    private let index: AttributeIndex

    /// Those of a class.
    static func of(_ itemClass: ItemClass) -> PrimaryKeyMembers {
        switch itemClass {
        case .genericPassword: genericPassword
        case .internetPassword: internetPassword
        case .certificate: certificate
        case .key: key
        case .identity: identity
        }
    }

    /// Takes down that an item has an attribute.
    func note(_ name: AttributeName, in given: inout Given) {
        if let place = index[name] { given.places |= 1 << UInt32(place) }
    }

    /// The names and empty values of all that an item was not found to have.
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
