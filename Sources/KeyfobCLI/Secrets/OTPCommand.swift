import ArgumentParser

/// `keyfob otp`: one-time passwords.
struct OTPCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "otp", "Make one-time passwords, the codes of two-factor logins.",
        examples: Examples(
            "keyfob otp set github.com",
            "keyfob otp get github.com --copy",
            "keyfob otp ls"),
        discussion: """
            The codes are those of RFC 6238 (TOTP), as authenticator apps show them. A one-time password and a \
            password may have the same name; keyfob ls shows the former with "otp:" before its name.
            """,
        subcommands: [OTPSet.self, OTPGet.self, OTPList.self, OTPShow.self, OTPRemove.self])
}
