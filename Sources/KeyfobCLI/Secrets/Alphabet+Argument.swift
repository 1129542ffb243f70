import ArgumentParser
import Keyfob

extension Alphabet: ExpressibleByArgument {}
