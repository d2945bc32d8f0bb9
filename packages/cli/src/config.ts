/** What the environment tells this process; the only place that reads it. */
import { homedir } from 'node:os'
import { join } from 'node:path'

export interface Settings {
  /** Where contexts are kept. */
  readonly configFile: string
  /** Where `windlass up` keeps its data unless told otherwise. */
  readonly dataFolder: string
  /** Override the current context. */
  readonly url: string | undefined
  readonly apiKey: string | undefined
  /** PEM file of further certificate authorities. */
  readonly caFile: string | undefined
  /** PostgreSQL database of `windlass up`. */
  readonly postgres: string | undefined
  /** Address of documentation that links of `validate` lead to. */
  readonly docsUrl: string | undefined
  /** Show stacks. */
  readonly debug: boolean
  readonly noColour: boolean
  readonly forceColour: boolean
  /** The whole environment: what a local build hands on to git and Docker. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** What may stand anywhere on a command line. */
export interface GlobalOptions {
  /** `--cfconfig FILE`: another file of contexts. */
  readonly configFile?: string | undefined
  /** `--verbose`. */
  readonly verbose?: boolean
}

/** Takes the options out that may stand anywhere; `words` is the rest. */
export function takeGlobalOptions(given: readonly string[]): { words: string[]; globals: GlobalOptions } {
  const words: string[] = []
  let configFile: string | undefined
  let verbose = false
  for (let at = 0; at < given.length; at += 1) {
    const word = given[at] ?? ''
    if (word === '--cfconfig') configFile = given[(at += 1)]
    else if (word.startsWith('--cfconfig=')) configFile = word.slice('--cfconfig='.length)
    else if (word === '--verbose') verbose = true
    else words.push(word)
  }
  return { words, globals: { configFile, verbose } }
}

/** Reads the settings; an empty variable counts as not set. */
export function readSettings(
  env: Readonly<Record<string, string | undefined>> = process.env,
  globals: GlobalOptions = {},
): Settings {
  const get = (name: string): string | undefined => (env[name] === '' ? undefined : env[name])
  const home = get('HOME') ?? homedir()
  // Steps of a build are logged in to the server that runs it; elsewhere the vendor's variables count when both are there.
  const isVendors = get('CF_BUILD_ID') !== undefined || (get('CF_URL') !== undefined && get('CF_API_KEY') !== undefined)
  return {
    configFile:
      globals.configFile ??
      get('WINDLASS_CONFIG') ??
      get('CFCONFIG') ??
      join(get('XDG_CONFIG_HOME') ?? join(home, '.config'), 'windlass', 'config.yaml'),
    dataFolder: join(get('XDG_DATA_HOME') ?? join(home, '.local', 'share'), 'windlass'),
    url: get('WINDLASS_URL') ?? (isVendors ? get('CF_URL') : undefined),
    apiKey: get('WINDLASS_API_KEY') ?? (isVendors ? get('CF_API_KEY') : undefined),
    caFile: get('WINDLASS_CA_FILE'),
    postgres: get('WINDLASS_POSTGRES'),
    docsUrl: (get('WINDLASS_DOCS_URL') ?? get('DOCS_BASE_URL'))?.replace(/\/+$/, ''),
    debug: globals.verbose === true || get('WINDLASS_DEBUG') !== undefined,
    noColour: get('NO_COLOR') !== undefined || get('TERM') === 'dumb',
    forceColour: get('FORCE_COLOR') !== undefined && get('FORCE_COLOR') !== '0',
    environment: env,
  }
}
