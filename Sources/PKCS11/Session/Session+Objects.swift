import CP11Kit

/// Objects: searched for, made, changed and destroyed.
extension Session {
    /// The objects that have all attributes of `template`; all objects for an empty one.
    ///
    /// Private objects show only after a login. The order means nothing. The search is closed whatever happens,
    /// for SoftHSM and tpm2 refuse to sign while one is open. SoftHSM looks at every object on the token, hit or
    /// miss, for 14 microseconds each: search once for many rather than often for one.
    ///
    /// Corresponds to `C_FindObjectsInit`, `C_FindObjects` and `C_FindObjectsFinal`.
    ///
    /// - Parameter limit: how many to return at the most.
    /// - Throws: `ReturnValue.sessionHandleInvalid`, `deviceError`, or `generalError`, with which NSS answers an
    ///   attribute it does not know.
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
                // The bound keeps a module that counts wrongly from making us read beyond the batch.
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

    /// Makes an object that is like `template`.
    ///
    /// Name class, `token`, `isPrivate` and, for keys, `sensitive`, `extractable` and every use: the defaults of
    /// tokens differ widely.
    ///
    /// Corresponds to `C_CreateObject`.
    ///
    /// - Throws: `ReturnValue.templateIncomplete`, `templateInconsistent`, `attributeValueInvalid`,
    ///   `attributeTypeInvalid`; `userNotLoggedIn` for a private object; `sessionReadOnly`, `deviceMemory`.
    public func create(_ template: AttributeTemplate) throws(PKCS11Error) -> ObjectHandle {
        let createObject = try unsafe functions.entry(functions.table.pointee.C_CreateObject, .createObject)
        return try unsafe make(.createObject, template) { unsafe createObject(handle, $0, $1, &$2) }
    }

    /// Makes another object like `object`, but for what `template` says.
    ///
    /// NSS answers with the handle of the original when both are on the token.
    ///
    /// Corresponds to `C_CopyObject`.
    ///
    /// - Throws: `ReturnValue.objectHandleInvalid`, `actionProhibited`, `templateInconsistent`,
    ///   `attributeReadOnly`; `functionNotSupported` by tpm2.
    public func copy(
        _ object: ObjectHandle, changing template: AttributeTemplate = []
    ) throws(PKCS11Error) -> ObjectHandle {
        let copyObject = try unsafe functions.entry(functions.table.pointee.C_CopyObject, .copyObject)
        return try unsafe make(.copyObject, template) { unsafe copyObject(handle, object.rawValue, $0, $1, &$2) }
    }

    /// Destroys an object. For a key on the token there is no way back.
    ///
    /// Corresponds to `C_DestroyObject`.
    ///
    /// - Throws: `ReturnValue.objectHandleInvalid` when it is gone already, `actionProhibited`, `sessionReadOnly`.
    public func destroy(_ object: ObjectHandle) throws(PKCS11Error) {
        let destroyObject = try unsafe functions.entry(functions.table.pointee.C_DestroyObject, .destroyObject)
        try call(.destroyObject) { destroyObject(handle, object.rawValue) }
    }

    /// Changes attributes of an object.
    ///
    /// All or none are changed, except by NSS, which keeps those that stand before the refused one.
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

    /// Makes one C call that takes a template and answers with a handle.
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
