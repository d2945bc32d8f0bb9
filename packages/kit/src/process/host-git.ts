/** Reads a Git repository of this machine. It may be a foreign one, whose configuration must not run programs. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Settings that take precedence over those of the repository. Each of the first four names a program that git would run (githooks(5), git-config(1)). A
 * bare repository inside a work tree, which a clone can contain, is not used.
 */
const SETTINGS = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'log.showSignature=false',
  'core.pager=cat',
  'safe.bareRepository=explicit',
  // A repository that lacks objects would fetch them, with programs that it names.
  ...['', '.ext', '.file', '.git', '.http', '.https', '.ssh'].map((name) => `protocol${name}.allow=never`),
]

export interface HostGitOptions {
  readonly timeoutMs?: number
  readonly maxBuffer?: number
  /** Reads a repository of another user, which git refuses otherwise. For a folder that the user has named. */
  readonly anyOwner?: boolean
}

/** Returns the output of a git command in a folder, or undefined if it fails or git is missing. */
export async function readHostGit(
  folder: string,
  args: readonly string[],
  { timeoutMs, maxBuffer = 1_048_576, anyOwner = false }: HostGitOptions = {},
): Promise<string | undefined> {
  const settings = anyOwner ? [...SETTINGS, 'safe.directory=*'] : SETTINGS
  try {
    const given = settings.flatMap((setting) => ['-c', setting])
    const { stdout } = await run('git', [...given, '-C', folder, ...args], { maxBuffer, timeout: timeoutMs ?? 0 })
    return stdout
  } catch {
    return undefined
  }
}
