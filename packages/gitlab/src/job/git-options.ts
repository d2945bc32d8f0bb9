/** What the variables of a job say about its sources. Wrong values have the default, and a warning in the log of the job. */
import type { Variables } from './variables.ts'

const STRATEGIES = ['clone', 'fetch', 'none', 'empty'] as const
const SUBMODULES = ['none', 'normal', 'recursive'] as const

export interface GitOptions {
  readonly strategy: (typeof STRATEGIES)[number]
  readonly isCheckedOut: boolean
  /** 0: the whole history. */
  readonly depth: number
  readonly submodules: (typeof SUBMODULES)[number]
  readonly submodulePaths: readonly string[]
  readonly submoduleDepth: number
  readonly submoduleUpdateFlags: readonly string[]
  readonly forcesHttps: boolean
  /** Undefined: nothing is cleaned. */
  readonly cleanFlags: readonly string[] | undefined
  readonly fetchFlags: readonly string[]
  readonly skipsLfs: boolean
  /** Number of tries, 1 to 10. */
  readonly attempts: number
  readonly warnings: readonly string[]
}

const MAX_ATTEMPTS = 10

/** Reads the options. `depth` is that of the job, as the server sends it. */
export function readGitOptions(variables: Pick<Variables, 'valueOf'>, depth: number): GitOptions {
  const warnings: string[] = []
  const read = (name: string): string => variables.valueOf(name)?.trim() ?? ''
  const warn = (name: string, value: string, used: string): void =>
    void warnings.push(`${name} has the value "${value}", which is not valid. ${used} is used instead.`)

  function oneOf<const L extends readonly string[]>(name: string, values: L, usual: L[number]): L[number] {
    const value = read(name)
    const found = values.find((known) => known === value)
    if (found === undefined && value !== '') warn(name, value, usual)
    return found ?? usual
  }
  function truth(name: string, usual: boolean): boolean {
    const value = read(name).toLowerCase()
    if (['true', '1', 't'].includes(value)) return true
    if (['false', '0', 'f'].includes(value)) return false
    if (value !== '') warn(name, value, String(usual))
    return usual
  }
  function count(name: string, usual: number, [least, most]: readonly [number, number]): number {
    const value = read(name)
    if (value === '') return usual
    if (!/^-?\d{1,9}$/.test(value)) {
      warn(name, value, String(usual))
      return usual
    }
    const within = Math.min(Math.max(Number(value), least), most)
    if (within !== Number(value)) warn(name, value, String(within))
    return within
  }
  const words = (name: string, usual: string): string[] => {
    const value = read(name)
    return (value === '' ? usual : value).split(/\s+/).filter((word) => word !== '')
  }

  const cleanFlags = words('GIT_CLEAN_FLAGS', '-ffdx')
  return {
    strategy: oneOf('GIT_STRATEGY', STRATEGIES, 'fetch'),
    isCheckedOut: truth('GIT_CHECKOUT', true),
    depth: Math.max(0, depth),
    submodules: oneOf('GIT_SUBMODULE_STRATEGY', SUBMODULES, 'none'),
    submodulePaths: words('GIT_SUBMODULE_PATHS', ''),
    submoduleDepth: count('GIT_SUBMODULE_DEPTH', Math.max(0, depth), [0, 999_999_999]),
    submoduleUpdateFlags: words('GIT_SUBMODULE_UPDATE_FLAGS', ''),
    forcesHttps: truth('GIT_SUBMODULE_FORCE_HTTPS', false),
    cleanFlags: cleanFlags[0] === 'none' ? undefined : cleanFlags,
    fetchFlags: words('GIT_FETCH_EXTRA_FLAGS', '--prune --quiet'),
    skipsLfs: truth('GIT_LFS_SKIP_SMUDGE', false),
    attempts: count('GET_SOURCES_ATTEMPTS', 1, [1, MAX_ATTEMPTS]),
    warnings,
  }
}
