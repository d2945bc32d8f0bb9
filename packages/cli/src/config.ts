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

/** Reads the settings; an empty variable counts as not set. */
export function readSettings(env: Readonly<Record<string, string | undefined>> = process.env): Settings {
  const get = (name: string): string | undefined => (env[name] === '' ? undefined : env[name])
  const home = get('HOME') ?? homedir()
  return {
    configFile: get('WINDLASS_CONFIG') ?? join(get('XDG_CONFIG_HOME') ?? join(home, '.config'), 'windlass', 'config.yaml'),
    dataFolder: join(get('XDG_DATA_HOME') ?? join(home, '.local', 'share'), 'windlass'),
    // Steps of a build are logged in to the server that runs it.
    url: get('WINDLASS_URL') ?? (get('CF_BUILD_ID') === undefined ? undefined : get('CF_URL')),
    apiKey: get('WINDLASS_API_KEY') ?? (get('CF_BUILD_ID') === undefined ? undefined : get('CF_API_KEY')),
    caFile: get('WINDLASS_CA_FILE'),
    postgres: get('WINDLASS_POSTGRES'),
    docsUrl: (get('WINDLASS_DOCS_URL') ?? get('DOCS_BASE_URL'))?.replace(/\/+$/, ''),
    debug: get('WINDLASS_DEBUG') !== undefined,
    noColour: get('NO_COLOR') !== undefined || get('TERM') === 'dumb',
    forceColour: get('FORCE_COLOR') !== undefined && get('FORCE_COLOR') !== '0',
    environment: env,
  }
}
