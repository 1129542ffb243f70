public import Foundation

// MARK: Attributes of both classes of passwords

/// The account; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrAccount: CFString = "acct"
/// The kind of item, for display.
@safe nonisolated(unsafe) public let kSecAttrDescription: CFString = "desc"
/// A comment.
@safe nonisolated(unsafe) public let kSecAttrComment: CFString = "icmt"
/// The creator of the item: a four-character code.
@safe nonisolated(unsafe) public let kSecAttrCreator: CFString = "crtr"
/// The type of the item: a four-character code.
@safe nonisolated(unsafe) public let kSecAttrType: CFString = "type"
/// The script of the text: a number.
@safe nonisolated(unsafe) public let kSecAttrScriptCode: CFString = "scrp"
/// Whether lists hide the item.
@safe nonisolated(unsafe) public let kSecAttrIsInvisible: CFString = "invi"
/// Whether the item records that there is deliberately no password.
@safe nonisolated(unsafe) public let kSecAttrIsNegative: CFString = "nega"
/// Whether the item has a custom icon.
@safe nonisolated(unsafe) public let kSecAttrHasCustomIcon: CFString = "cusi"
/// Bytes that are returned with the attributes.
@safe nonisolated(unsafe) public let kSecAttrProtected: CFString = "prot"

// MARK: Attributes of generic passwords

/// The service; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrService: CFString = "svce"
/// Bytes that the application chooses; not part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrGeneric: CFString = "gena"

// MARK: Attributes of internet passwords

/// The security domain, or realm; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrSecurityDomain: CFString = "sdmn"
/// The server's name or address; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrServer: CFString = "srvr"
/// The protocol, one of the `kSecAttrProtocol…` values; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrProtocol: CFString = "ptcl"
/// The authentication scheme, one of the `kSecAttrAuthenticationType…` values; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationType: CFString = "atyp"
/// The port; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrPort: CFString = "port"
/// The path; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrPath: CFString = "path"
/// Notes; secret, and returned only with data and attributes.
@safe nonisolated(unsafe) public let kSecDataInetExtraNotes: CFString = "binn"
/// The history of the password; secret, and returned only with data and attributes.
@safe nonisolated(unsafe) public let kSecDataInetExtraHistory: CFString = "bini"
/// The first secret value that the client defines.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined0: CFString = "bin0"
/// The second secret value that the client defines.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined1: CFString = "bin1"
/// The third secret value that the client defines.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined2: CFString = "bin2"
/// The fourth secret value that the client defines.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined3: CFString = "bin3"

// MARK: Attributes of file keychains that no class here has

/// The volume of an AppleShare server.
@safe nonisolated(unsafe) public let kSecAttrVolume: CFString = "volm"
/// The address of an AppleShare server.
@safe nonisolated(unsafe) public let kSecAttrAddress: CFString = "addr"
/// The signature of an AppleShare server.
@safe nonisolated(unsafe) public let kSecAttrAFPServerSignature: CFString = "afps"
