// Result codes of SecBase.h about attributes of operations. No function of this module returns them; they exist for
// code that compares with them.

/// The key among the attributes of the operation is not valid.
public let errSecInvalidAttributeKey: OSStatus = -67748
/// The key among the attributes of the operation is missing.
public let errSecMissingAttributeKey: OSStatus = -67749
/// The initialization vector among the attributes of the operation is not valid.
public let errSecInvalidAttributeInitVector: OSStatus = -67750
/// The initialization vector among the attributes of the operation is missing.
public let errSecMissingAttributeInitVector: OSStatus = -67751
/// The salt among the attributes of the operation is not valid.
public let errSecInvalidAttributeSalt: OSStatus = -67752
/// The salt among the attributes of the operation is missing.
public let errSecMissingAttributeSalt: OSStatus = -67753
/// The padding among the attributes of the operation is not valid.
public let errSecInvalidAttributePadding: OSStatus = -67754
/// The padding among the attributes of the operation is missing.
public let errSecMissingAttributePadding: OSStatus = -67755
/// The random number among the attributes of the operation is not valid.
public let errSecInvalidAttributeRandom: OSStatus = -67756
/// The random number among the attributes of the operation is missing.
public let errSecMissingAttributeRandom: OSStatus = -67757
/// The seed among the attributes of the operation is not valid.
public let errSecInvalidAttributeSeed: OSStatus = -67758
/// The seed among the attributes of the operation is missing.
public let errSecMissingAttributeSeed: OSStatus = -67759
/// The passphrase among the attributes of the operation is not valid.
public let errSecInvalidAttributePassphrase: OSStatus = -67760
/// The passphrase among the attributes of the operation is missing.
public let errSecMissingAttributePassphrase: OSStatus = -67761
/// The length of the key among the attributes of the operation is not valid.
public let errSecInvalidAttributeKeyLength: OSStatus = -67762
/// The length of the key among the attributes of the operation is missing.
public let errSecMissingAttributeKeyLength: OSStatus = -67763
/// The size of a block among the attributes of the operation is not valid.
public let errSecInvalidAttributeBlockSize: OSStatus = -67764
/// The size of a block among the attributes of the operation is missing.
public let errSecMissingAttributeBlockSize: OSStatus = -67765
/// The size of the output among the attributes of the operation is not valid.
public let errSecInvalidAttributeOutputSize: OSStatus = -67766
/// The size of the output among the attributes of the operation is missing.
public let errSecMissingAttributeOutputSize: OSStatus = -67767
/// The number of rounds among the attributes of the operation is not valid.
public let errSecInvalidAttributeRounds: OSStatus = -67768
/// The number of rounds among the attributes of the operation is missing.
public let errSecMissingAttributeRounds: OSStatus = -67769
/// The set of parameters among the attributes of the operation is not valid.
public let errSecInvalidAlgorithmParms: OSStatus = -67770
/// The set of parameters among the attributes of the operation is missing.
public let errSecMissingAlgorithmParms: OSStatus = -67771
/// The label among the attributes of the operation is not valid.
public let errSecInvalidAttributeLabel: OSStatus = -67772
/// The label among the attributes of the operation is missing.
public let errSecMissingAttributeLabel: OSStatus = -67773
/// The type of the key among the attributes of the operation is not valid.
public let errSecInvalidAttributeKeyType: OSStatus = -67774
/// The type of the key among the attributes of the operation is missing.
public let errSecMissingAttributeKeyType: OSStatus = -67775
/// The mode among the attributes of the operation is not valid.
public let errSecInvalidAttributeMode: OSStatus = -67776
/// The mode among the attributes of the operation is missing.
public let errSecMissingAttributeMode: OSStatus = -67777
/// The number of effective bits among the attributes of the operation is not valid.
public let errSecInvalidAttributeEffectiveBits: OSStatus = -67778
/// The number of effective bits among the attributes of the operation is missing.
public let errSecMissingAttributeEffectiveBits: OSStatus = -67779
/// The first day among the attributes of the operation is not valid.
public let errSecInvalidAttributeStartDate: OSStatus = -67780
/// The first day among the attributes of the operation is missing.
public let errSecMissingAttributeStartDate: OSStatus = -67781
/// The last day among the attributes of the operation is not valid.
public let errSecInvalidAttributeEndDate: OSStatus = -67782
/// The last day among the attributes of the operation is missing.
public let errSecMissingAttributeEndDate: OSStatus = -67783
/// The version among the attributes of the operation is not valid.
public let errSecInvalidAttributeVersion: OSStatus = -67784
/// The version among the attributes of the operation is missing.
public let errSecMissingAttributeVersion: OSStatus = -67785
/// The prime among the attributes of the operation is not valid.
public let errSecInvalidAttributePrime: OSStatus = -67786
/// The prime among the attributes of the operation is missing.
public let errSecMissingAttributePrime: OSStatus = -67787
/// The base among the attributes of the operation is not valid.
public let errSecInvalidAttributeBase: OSStatus = -67788
/// The base among the attributes of the operation is missing.
public let errSecMissingAttributeBase: OSStatus = -67789
/// The subprime among the attributes of the operation is not valid.
public let errSecInvalidAttributeSubprime: OSStatus = -67790
/// The subprime among the attributes of the operation is missing.
public let errSecMissingAttributeSubprime: OSStatus = -67791
/// The number of iterations among the attributes of the operation is not valid.
public let errSecInvalidAttributeIterationCount: OSStatus = -67792
/// The number of iterations among the attributes of the operation is missing.
public let errSecMissingAttributeIterationCount: OSStatus = -67793
/// The handle of a database among the attributes of the operation is not valid.
public let errSecInvalidAttributeDLDBHandle: OSStatus = -67794
/// The handle of a database among the attributes of the operation is missing.
public let errSecMissingAttributeDLDBHandle: OSStatus = -67795
/// The set of access credentials among the attributes of the operation is not valid.
public let errSecInvalidAttributeAccessCredentials: OSStatus = -67796
/// The set of access credentials among the attributes of the operation is missing.
public let errSecMissingAttributeAccessCredentials: OSStatus = -67797
/// The format of a public key among the attributes of the operation is not valid.
public let errSecInvalidAttributePublicKeyFormat: OSStatus = -67798
/// The format of a public key among the attributes of the operation is missing.
public let errSecMissingAttributePublicKeyFormat: OSStatus = -67799
/// The format of a private key among the attributes of the operation is not valid.
public let errSecInvalidAttributePrivateKeyFormat: OSStatus = -67800
/// The format of a private key among the attributes of the operation is missing.
public let errSecMissingAttributePrivateKeyFormat: OSStatus = -67801
/// The format of a symmetric key among the attributes of the operation is not valid.
public let errSecInvalidAttributeSymmetricKeyFormat: OSStatus = -67802
/// The format of a symmetric key among the attributes of the operation is missing.
public let errSecMissingAttributeSymmetricKeyFormat: OSStatus = -67803
/// The format of a wrapped key among the attributes of the operation is not valid.
public let errSecInvalidAttributeWrappedKeyFormat: OSStatus = -67804
/// The format of a wrapped key among the attributes of the operation is missing.
public let errSecMissingAttributeWrappedKeyFormat: OSStatus = -67805

extension StatusDescription {
    /// The codes about attributes of operations.
    static let ofAttributes: [StatusDescription] = [
        Self(
            errSecInvalidAttributeKey, "errSecInvalidAttributeKey",
            "The key among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeKey, "errSecMissingAttributeKey",
            "The key among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeInitVector, "errSecInvalidAttributeInitVector",
            "The initialization vector among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeInitVector, "errSecMissingAttributeInitVector",
            "The initialization vector among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeSalt, "errSecInvalidAttributeSalt",
            "The salt among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeSalt, "errSecMissingAttributeSalt",
            "The salt among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributePadding, "errSecInvalidAttributePadding",
            "The padding among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributePadding, "errSecMissingAttributePadding",
            "The padding among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeRandom, "errSecInvalidAttributeRandom",
            "The random number among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeRandom, "errSecMissingAttributeRandom",
            "The random number among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeSeed, "errSecInvalidAttributeSeed",
            "The seed among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeSeed, "errSecMissingAttributeSeed",
            "The seed among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributePassphrase, "errSecInvalidAttributePassphrase",
            "The passphrase among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributePassphrase, "errSecMissingAttributePassphrase",
            "The passphrase among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeKeyLength, "errSecInvalidAttributeKeyLength",
            "The length of the key among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeKeyLength, "errSecMissingAttributeKeyLength",
            "The length of the key among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeBlockSize, "errSecInvalidAttributeBlockSize",
            "The size of a block among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeBlockSize, "errSecMissingAttributeBlockSize",
            "The size of a block among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeOutputSize, "errSecInvalidAttributeOutputSize",
            "The size of the output among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeOutputSize, "errSecMissingAttributeOutputSize",
            "The size of the output among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeRounds, "errSecInvalidAttributeRounds",
            "The number of rounds among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeRounds, "errSecMissingAttributeRounds",
            "The number of rounds among the attributes of the operation is missing"),
        Self(
            errSecInvalidAlgorithmParms, "errSecInvalidAlgorithmParms",
            "The set of parameters among the attributes of the operation is not valid"),
        Self(
            errSecMissingAlgorithmParms, "errSecMissingAlgorithmParms",
            "The set of parameters among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeLabel, "errSecInvalidAttributeLabel",
            "The label among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeLabel, "errSecMissingAttributeLabel",
            "The label among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeKeyType, "errSecInvalidAttributeKeyType",
            "The type of the key among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeKeyType, "errSecMissingAttributeKeyType",
            "The type of the key among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeMode, "errSecInvalidAttributeMode",
            "The mode among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeMode, "errSecMissingAttributeMode",
            "The mode among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeEffectiveBits, "errSecInvalidAttributeEffectiveBits",
            "The number of effective bits among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeEffectiveBits, "errSecMissingAttributeEffectiveBits",
            "The number of effective bits among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeStartDate, "errSecInvalidAttributeStartDate",
            "The first day among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeStartDate, "errSecMissingAttributeStartDate",
            "The first day among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeEndDate, "errSecInvalidAttributeEndDate",
            "The last day among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeEndDate, "errSecMissingAttributeEndDate",
            "The last day among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeVersion, "errSecInvalidAttributeVersion",
            "The version among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeVersion, "errSecMissingAttributeVersion",
            "The version among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributePrime, "errSecInvalidAttributePrime",
            "The prime among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributePrime, "errSecMissingAttributePrime",
            "The prime among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeBase, "errSecInvalidAttributeBase",
            "The base among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeBase, "errSecMissingAttributeBase",
            "The base among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeSubprime, "errSecInvalidAttributeSubprime",
            "The subprime among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeSubprime, "errSecMissingAttributeSubprime",
            "The subprime among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeIterationCount, "errSecInvalidAttributeIterationCount",
            "The number of iterations among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeIterationCount, "errSecMissingAttributeIterationCount",
            "The number of iterations among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeDLDBHandle, "errSecInvalidAttributeDLDBHandle",
            "The handle of a database among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeDLDBHandle, "errSecMissingAttributeDLDBHandle",
            "The handle of a database among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeAccessCredentials, "errSecInvalidAttributeAccessCredentials",
            "The set of access credentials among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeAccessCredentials, "errSecMissingAttributeAccessCredentials",
            "The set of access credentials among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributePublicKeyFormat, "errSecInvalidAttributePublicKeyFormat",
            "The format of a public key among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributePublicKeyFormat, "errSecMissingAttributePublicKeyFormat",
            "The format of a public key among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributePrivateKeyFormat, "errSecInvalidAttributePrivateKeyFormat",
            "The format of a private key among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributePrivateKeyFormat, "errSecMissingAttributePrivateKeyFormat",
            "The format of a private key among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeSymmetricKeyFormat, "errSecInvalidAttributeSymmetricKeyFormat",
            "The format of a symmetric key among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeSymmetricKeyFormat, "errSecMissingAttributeSymmetricKeyFormat",
            "The format of a symmetric key among the attributes of the operation is missing"),
        Self(
            errSecInvalidAttributeWrappedKeyFormat, "errSecInvalidAttributeWrappedKeyFormat",
            "The format of a wrapped key among the attributes of the operation is not valid"),
        Self(
            errSecMissingAttributeWrappedKeyFormat, "errSecMissingAttributeWrappedKeyFormat",
            "The format of a wrapped key among the attributes of the operation is missing"),
    ]
}
