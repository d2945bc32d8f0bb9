/**
 * The lines with which compilers, test runners and other tools report a failure, by their public output formats. A line with the word `error` alone is
 * not a problem: passing tests and warnings have it too. No pattern takes more than linear time, because none repeats a repetition.
 */

export const PROBLEM_KINDS = ['compiler', 'test', 'tool', 'system'] as const
export type ProblemKind = (typeof PROBLEM_KINDS)[number]

function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => `(?:${source})`).join('|'))
}

/** Reports of one place in the source, and of linkers. */
const COMPILER = anyOf(
  // GCC, Clang, javac, Swift, mypy, GHC, Dart: `file:12:3: error: …`; googletest and Catch2: `file:12: Failure`
  /^(?:[A-Za-z]:)?[^\s:][^:]*:\d+(?::\d+)?: (?:fatal |internal compiler |syntax |parse )?[Ee]rror(?::| \[)/,
  /^(?:[A-Za-z]:)?[^\s:][^:]*:\d+: (?:Failure|FAILED:)/,
  // TypeScript, C#, MSVC and Boost: `file(12,3): error TS2322: …`; `tsc --pretty`: `file:12:3 - error TS2322: …`
  /^\s*\S.*\(\d+(?:,\d+)*\): (?:fatal )?error\b/,
  /^\S+:\d+:\d+ - error\b/,
  /^\S.* : (?:fatal )?error [A-Z]+\d+:/,
  // rustc, and other tools that start their lines like this
  /^error(?:\[E\d+\])?: /,
  /^[ew]: (?:file:\/\/|\/)\S+\.kts?:\(?\d+.*unresolved|^e: \S/,
  // Go, golangci-lint
  /^(?:vet: )?(?:\.{1,2}\/)*[\w.@/-]+\.go:\d+:\d+: /,
  // ESLint, RuboCop, flake8, Ruff, Pylint
  /^\s+\d+:\d+\s+error\s+\S/,
  /^\S+\.rb:\d+:\d+: [EF]: /,
  /^\S+\.py:\d+:\d+: [EF]\d+\b/,
  // sbt, Maven
  /^\[error\] (?:-- )?\S+\.(?:scala|java):\d+/,
  /^\[ERROR\] (?:COMPILATION ERROR|\S+\.(?:java|kt|scala|groovy):\[?\d+)/,
  // Linkers
  /\bundefined reference to [`'‘]|^(?:\S*\/)?(?:ld|ld64|lld|ld\.lld|mold)(?:\.\w+)?: (?:error|fatal|cannot|symbol|library not|undefined)|^Undefined symbols? for/,
  /^CMake Error\b|^== Compilation error in /,
  // webpack, esbuild, Vite, PHP
  /^ERROR in \S|^✘ \[ERROR\] |^error during build:/,
  /^(?:PHP )?(?:Fatal|Parse) error: /,
)

/** Reports of failed tests, and uncaught exceptions. */
const TEST = anyOf(
  // pytest, unittest
  /^E {3,}\S/,
  /^(?:FAILED|ERROR) \S+\.py(?:::|\s|$)/,
  /^\S+\.py::\S.* (?:FAILED|ERROR)\b/,
  /^(?:FAIL|ERROR): \w+ \(/,
  /^\w+ \(\S+\) \.\.\. (?:FAIL|ERROR)$/,
  // Go, Rust
  /^\s*--- FAIL: /,
  /^FAIL\s+\S+\s+(?:\[\w+ failed\]|\(?\d)/,
  /^test \S+ (?:- should panic )?\.\.\. FAILED$/,
  /^thread '[^']*'(?: \(\d+\))? panicked at /,
  /^panic: /,
  // Jest, Vitest, Mocha, Playwright, node --test, TAP
  /^\s*FAIL {1,2}\S/,
  /^\s*● \S.*(?: › |failed to run)/,
  /^\s*❯ .*\| \d+ failed/,
  /^\s*[✖✗✘×✕] {1,2}(?!.*\b0 errors)\S/,
  /^\s*\d+ failing$/,
  /^\s+\d+\) \[[\w -]+\] › /,
  /^\s*not ok \d+\b(?!.*# (?:TODO|SKIP|todo|skip))/,
  /^\s*#\s+Failed test\b/,
  // JUnit with Maven, Gradle or its console; TestNG; sbt
  /^\[(?:ERROR|WARNING)\] .*<<< (?:FAILURE|ERROR)!/,
  /^Tests run: .*<<< (?:FAILURE|ERROR)!/,
  /^\S.* > .+ FAILED$/,
  / \[X\] \S/,
  /\*\*\* FAILED \*\*\*/,
  // googletest, CTest
  /^\[ {2}FAILED {2}\] /,
  /\*\*\*(?:Failed|Exception|Timeout|Not Run)\b/,
  // .NET
  /^\s+(?:Failed|X) \S.* \[(?:< )?\d+ (?:ms|s|m)\b/,
  /\[FAIL\]\s*$/,
  // RSpec, minitest, PHPUnit, ExUnit, Dart, Bazel
  /^\s+Failure\/Error: /,
  /^\s*(?:\d+\) )?(?:Failure|Error):$/,
  /^There (?:was|were) \d+ (?:failure|error)s?:/,
  /^\s+\d+\) test /,
  / \[E\]$/,
  /^\/\/\S+\s+(?:\(cached\) )?(?:FAILED|TIMEOUT)\b/,
  // Exceptions
  /^Traceback \(most recent call last\):/,
  /^Exception in thread "/,
  /^Unhandled exception\b/i,
  /^(?:Uncaught )?(?:[\w$]+\.)*[\w$]*(?:Error|Exception)(?: \[\w+\])?: \S/,
  /^\*\* \(\w[\w.]*\) /,
  /^==\d+== ?ERROR: /,
)

/** Failures of builds, package managers, shells and deployments. */
const TOOL = anyOf(
  /^(?:ERROR|FATAL|fatal|FATAL ERROR): (?!0 )\S/,
  /^npm (?:ERR!|error) /,
  /^error (?:Command failed|An unexpected error|Couldn't|Found)/,
  /\bERR_PNPM_|\bELIFECYCLE\b/,
  /^[gb]?make(?:\[\d+\])?: \*\*\* (?!\[.*\(ignored\))/,
  /^FAILED: \S/,
  /^ninja: error: /,
  /^> Task \S+ FAILED$/,
  /^FAILURE: Build failed/,
  /^(?:│ )?Error: \S/,
  /^Error from server \(/,
  /^#\d+ ERROR: /,
  /^\[ERROR\] Failed to execute goal/,
  /^(?:\/\S+|sh|bash|ash|dash|zsh): (?:(?:line )?\d+: )?.*(?:not found|[Nn]o such file or directory|Permission denied|[Ss]yntax error)/,
  /^(?:\S+: )*(?:line \d+: +\d+ )?(?:Segmentation fault|Aborted|Bus error|Illegal instruction)\b/,
)

/** Lines of the engine about the end of a step or of a try. */
const SYSTEM =
  /^\[SYSTEM\] .*\b(?:failed|cannot|could not|exit code [1-9]\d*|killed|memory limit|time limit|not found|refused|no space left)\b/i

const PATTERNS: readonly (readonly [ProblemKind, RegExp])[] = [
  ['system', SYSTEM],
  ['compiler', COMPILER],
  ['test', TEST],
  ['tool', TOOL],
]

/** A line that none of these words or signs is in matches no pattern. */
export const PROBLEM_WORDS =
  /error|fail|panic|exception|traceback|fatal|not ok|not found|no such file|permission denied|undefined|segmentation|aborted|killed|cannot|could not|illegal|exit code|limit|no space|refused|elifecycle|unresolved|cmake|timeout|not run|[✖✗✘×✕❯●]|\.go:\d|\.py:\d|\.rb:\d|\*\*|\[[ex]\]|^e: |^E {3}|\d\) test|\] › /gim

/** The prefix of output in the progress of BuildKit: `#12 3.456 `. */
const BUILDKIT_PREFIX = /^#\d+ \d+\.\d+ /
/** Characters of a line that the patterns see. */
const MAX_MATCHED = 500

/** Returns what a line of visible text reports as failed; undefined for any other line. */
export function problemOf(line: string): ProblemKind | undefined {
  const text = line.slice(0, MAX_MATCHED).replace(BUILDKIT_PREFIX, '').trimEnd()
  return PATTERNS.find(([, pattern]) => pattern.test(text))?.[0]
}
