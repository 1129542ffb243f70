import CP11Kit

/// Finding, creating, changing and destroying objects.
extension Session {
    /// Finds the objects that have all attributes of `template`; all objects if it is empty.
    ///
    /// Private objects are found only after a login. The order is unspecified. The search is closed in any case,
    /// because SoftHSM and tpm2 refuse to sign while one is open. SoftHSM reads every object on the token, which takes
    /// 14 microseconds each: search once for many objects rather than often for one.
    ///
    /// Corresponds to `C_FindObjectsInit`, `C_FindObjects` and `C_FindObjectsFinal`.
    ///
    /// - Parameter limit: The largest number of objects to return.
    /// - Throws: `ReturnValue.sessionHandleInvalid`, `deviceError`, or `generalError` from NSS for an attribute that it
    ///   does not know.
    public func findObjects(
        _ template: AttributeTemplate = [], limit: Int? = nil
    ) throws(PKCS11Error) -> [ObjectHandle] {
        let initialize = try unsafe functions.entry(functions.table.pointee.C_FindObjectsInit, .findObjectsInit)
        let find = try unsafe functions.entry(functions.table.pointee.C_FindObjects, .findObjects)
        let finalize = try unsafe functions.entry(functions.table.pointee.C_FindObjectsFinal, .findObjectsFinal)
        try begin(.findObjectsInit)
        defer { end() }
        try unsafe template.withCTemplate { (attributes, count) throws(PKCS11Error) in
            let result = try slot.module.inTurn(.findObjectsInit) { unsafe initialize(handle, attributes, count) }
            try check(.findObjectsInit, result)
        }

        let limit = limit ?? .max
        var found: [ObjectHandle] = []
        var returnValue = CKR_OK
        unsafe withUnsafeTemporaryAllocation(of: CK_OBJECT_HANDLE.self, capacity: 128) { batch in
            while found.count < limit, returnValue == CKR_OK {
                let room = min(batch.count, limit - found.count)
                var count = CK_ULONG(0)
                returnValue = pending(.findObjects) {
                    unsafe find(handle, batch.baseAddress, CK_ULONG(room), &count)
                }
                // The bound prevents reading beyond the batch if a module counts wrongly.
                let received = min(Int(clamping: count), room)
                if returnValue != CKR_OK || received == 0 { break }
                for index in 0..<received { found.append(ObjectHandle(rawValue: unsafe batch[index])) }
            }
        }
        let closing = pending(.findObjectsFinal) { finalize(handle) }
        if closing != CKR_OK { markBroken() }
        try check(.findObjects, returnValue)
        return found
    }

    /// Creates an object with the attributes of `template`.
    ///
    /// The template should contain the class, `token`, `isPrivate` and, for keys, `sensitive`, `extractable` and every
    /// use, because the defaults of tokens differ widely.
    ///
    /// Corresponds to `C_CreateObject`.
    ///
    /// - Throws: `ReturnValue.templateIncomplete`, `templateInconsistent`, `attributeValueInvalid`,
    ///   `attributeTypeInvalid`; `userNotLoggedIn` for a private object; `sessionReadOnly`, `deviceMemory`.
    public func create(_ template: AttributeTemplate) throws(PKCS11Error) -> ObjectHandle {
        let createObject = try unsafe functions.entry(functions.table.pointee.C_CreateObject, .createObject)
        return try unsafe make(.createObject, template) { unsafe createObject(handle, $0, $1, &$2) }
    }

    /// Copies `object`, with the attributes of `template` changed.
    ///
    /// NSS returns the handle of the original if both are on the token.
    ///
    /// Corresponds to `C_CopyObject`.
    ///
    /// - Throws: `ReturnValue.objectHandleInvalid`, `actionProhibited`, `templateInconsistent`, `attributeReadOnly`;
    ///   `functionNotSupported` from tpm2.
    public func copy(
        _ object: ObjectHandle, changing template: AttributeTemplate = []
    ) throws(PKCS11Error) -> ObjectHandle {
        let copyObject = try unsafe functions.entry(functions.table.pointee.C_CopyObject, .copyObject)
        return try unsafe make(.copyObject, template) { unsafe copyObject(handle, object.rawValue, $0, $1, &$2) }
    }

    /// Destroys an object. A key on the token cannot be recovered.
    ///
    /// Corresponds to `C_DestroyObject`.
    ///
    /// - Throws: `ReturnValue.objectHandleInvalid` if the object no longer exists, `actionProhibited`,
    ///   `sessionReadOnly`.
    public func destroy(_ object: ObjectHandle) throws(PKCS11Error) {
        let destroyObject = try unsafe functions.entry(functions.table.pointee.C_DestroyObject, .destroyObject)
        try call(.destroyObject) { destroyObject(handle, object.rawValue) }
    }

    /// Changes attributes of an object.
    ///
    /// Either all attributes are changed or none. NSS, however, keeps the changes before a refused one.
    ///
    /// Corresponds to `C_SetAttributeValue`.
    ///
    /// - Throws: `ReturnValue.attributeReadOnly`, `objectHandleInvalid`, `sessionReadOnly`, `templateInconsistent`.
    public func setAttributes(_ template: AttributeTemplate, of object: ObjectHandle) throws(PKCS11Error) {
        let setAttributeValue = try unsafe functions.entry(
            functions.table.pointee.C_SetAttributeValue, .setAttributeValue)
        try unsafe template.withCTemplate { (attributes, count) throws(PKCS11Error) in
            try call(.setAttributeValue) { unsafe setAttributeValue(handle, object.rawValue, attributes, count) }
        }
    }

    /// Makes one C call that takes a template and returns a handle.
    func make(
        _ function: PKCS11Function, _ template: AttributeTemplate,
        _ body: (UnsafeMutablePointer<CK_ATTRIBUTE>?, CK_ULONG, inout CK_OBJECT_HANDLE) -> CK_RV
    ) throws(PKCS11Error) -> ObjectHandle {
        var object = CK_OBJECT_HANDLE()
        try unsafe template.withCTemplate { (attributes, count) throws(PKCS11Error) in
            try callInTurn(function) { unsafe body(attributes, count, &object) }
        }
        return ObjectHandle(rawValue: object)
    }
}
