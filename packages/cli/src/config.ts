/** Settings from the environment. Nothing else in this package reads it. */
import { homedir } from 'node:os'
import { join } from 'node:path'

export interface Settings {
  /** The configuration file with the contexts. */
  readonly configFile: string
  /** Default data folder of `windlass up`. */
  readonly dataFolder: string
  /** Overrides the URL of the current context; `apiKey` overrides its key. */
  readonly url: string | undefined
  readonly apiKey: string | undefined
  /** Bootstrap code for the first admin key of a server. */
  readonly bootstrapCode: string | undefined
  /** PEM file of additional certificate authorities. */
  readonly caFile: string | undefined
  /** PostgreSQL database of `windlass up`. */
  readonly postgres: string | undefined
  /** Base URL of the documentation that `validate` links to. */
  readonly docsUrl: string | undefined
  /** Command that edits a file. */
  readonly editor: string | undefined
  /** Shows stack traces. */
  readonly debug: boolean
  readonly noColor: boolean
  readonly forceColor: boolean
  /** The whole environment, which a local build passes to git and Docker. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Options that are accepted anywhere on a command line. */
export interface GlobalOptions {
  /** `--cfconfig FILE`: another configuration file. */
  readonly configFile?: string | undefined
  /** `--verbose`. */
  readonly verbose?: boolean
}

/** Extracts the global options; `argv` is the rest of the command line. */
export function takeGlobalOptions(given: readonly string[]): { argv: string[]; globals: GlobalOptions } {
  const argv: string[] = []
  let configFile: string | undefined
  let verbose = false
  for (let at = 0; at < given.length; at += 1) {
    const word = given[at] ?? ''
    if (word === '--cfconfig') configFile = given[(at += 1)]
    else if (word.startsWith('--cfconfig=')) configFile = word.slice('--cfconfig='.length)
    else if (word === '--verbose') verbose = true
    else argv.push(word)
  }
  return { argv, globals: { configFile, verbose } }
}

/** Reads the settings. An empty variable counts as unset. */
export function readSettings(
  env: Readonly<Record<string, string | undefined>> = process.env,
  globals: GlobalOptions = {},
): Settings {
  const get = (name: string): string | undefined => (env[name] === '' ? undefined : env[name])
  const home = get('HOME') ?? homedir()
  // Within a step, CF_URL and CF_API_KEY are those of the server that runs it. Elsewhere they count only if both are set.
  const usesCodefreshVariables =
    get('CF_BUILD_ID') !== undefined || (get('CF_URL') !== undefined && get('CF_API_KEY') !== undefined)
  return {
    configFile:
      globals.configFile ??
      get('WINDLASS_CONFIG') ??
      get('CFCONFIG') ??
      join(get('XDG_CONFIG_HOME') ?? join(home, '.config'), 'windlass', 'config.yaml'),
    dataFolder: join(get('XDG_DATA_HOME') ?? join(home, '.local', 'share'), 'windlass'),
    url: get('WINDLASS_URL') ?? (usesCodefreshVariables ? get('CF_URL') : undefined),
    apiKey: get('WINDLASS_API_KEY') ?? (usesCodefreshVariables ? get('CF_API_KEY') : undefined),
    bootstrapCode: get('WINDLASS_BOOTSTRAP_CODE'),
    caFile: get('WINDLASS_CA_FILE'),
    postgres: get('WINDLASS_POSTGRES'),
    docsUrl: (get('WINDLASS_DOCS_URL') ?? get('DOCS_BASE_URL'))?.replace(/\/+$/, ''),
    editor: get('VISUAL') ?? get('EDITOR'),
    debug: globals.verbose === true || get('WINDLASS_DEBUG') !== undefined,
    noColor: get('NO_COLOR') !== undefined || get('TERM') === 'dumb',
    forceColor: get('FORCE_COLOR') !== undefined && get('FORCE_COLOR') !== '0',
    environment: env,
  }
}
