import Foundation

// Apple assigns the numbers of its opaque types at run time, so callers cannot depend on their values.
extension SecKey: TypeIdentified { static var typeID: CFTypeID { 256 } }
extension SecCertificate: TypeIdentified { static var typeID: CFTypeID { 257 } }
extension SecIdentity: TypeIdentified { static var typeID: CFTypeID { 258 } }
extension SecAccessControl: TypeIdentified { static var typeID: CFTypeID { 259 } }

/// The number of `SecKey`.
@discardableResult
public func SecKeyGetTypeID() -> CFTypeID { SecKey.typeID }
/// The number of `SecCertificate`.
@discardableResult
public func SecCertificateGetTypeID() -> CFTypeID { SecCertificate.typeID }
/// The number of `SecIdentity`.
@discardableResult
public func SecIdentityGetTypeID() -> CFTypeID { SecIdentity.typeID }
/// The number of `SecAccessControl`.
@discardableResult
public func SecAccessControlGetTypeID() -> CFTypeID { SecAccessControl.typeID }
