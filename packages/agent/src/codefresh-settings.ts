/** The flags and environment variables of the public agent, mapped to our settings. */
import { parseArgs } from 'node:util'
import { fault } from '@windlass/kit'

interface CodefreshSetting {
  readonly flag: string
  readonly env: string
  /** Key of our setting without the prefix. */
  readonly key: string
  readonly read?: (value: string) => string | undefined
}

const isTrue = (value: string): boolean => ['1', 't', 'true'].includes(value.toLowerCase())

export const CODEFRESH_SETTINGS: readonly CodefreshSetting[] = [
  { flag: 'codefresh-token', env: 'CODEFRESH_TOKEN', key: 'TOKEN' },
  { flag: 'codefresh-host', env: 'CODEFRESH_HOST', key: 'SERVER_URL' },
  { flag: 'agent-id', env: 'AGENT_ID', key: 'ID' },
  { flag: 'in-cluster-runtime', env: 'CODEFRESH_IN_CLUSTER_RUNTIME', key: 'RUNTIME' },
  { flag: 'config-dir', env: 'VENONA_CONFIG_DIR', key: 'CONFIG_DIR' },
  { flag: 'port', env: 'PORT', key: 'PORT' },
  {
    flag: 'tls-reject-unauthorized',
    env: 'NODE_TLS_REJECT_UNAUTHORIZED',
    key: 'TLS_INSECURE',
    read: (value) => String(!isTrue(value)),
  },
  { flag: 'task-pulling-interval', env: 'TASK_PULLING_INTERVAL', key: 'POLL_SECONDS' },
  { flag: 'status-reporting-interval', env: 'STATUS_REPORTING_INTERVAL', key: 'HEARTBEAT_SECONDS' },
  { flag: 'workflow-concurrency', env: 'WORKFLOW_CONCURRENCY', key: 'WORKFLOWS' },
  { flag: 'workflow-buffer-size', env: 'WORKFLOW_BUFFER_SIZE', key: 'BUFFER' },
  { flag: 'k8s-client-qps', env: 'K8S_CLIENT_QPS', key: 'QPS' },
  { flag: 'k8s-client-burst', env: 'K8S_CLIENT_BURST', key: 'BURST' },
  { flag: 'force-delete-pvc', env: 'FORCE_DELETE_PVC', key: 'FORCE_DELETE_PVC' },
  { flag: 'chart-version', env: 'RUNTIME_CHART_VERSION', key: 'CHART_VERSION' },
  { flag: 'verbose', env: 'VERBOSE', key: 'LOG_LEVEL', read: (value) => (isTrue(value) ? 'debug' : undefined) },
]

/** Accepted and ignored: flags of an application performance monitoring that the public agent no longer has. */
const IGNORED_FLAGS = ['newrelic-license-key', 'newrelic-appname']
const BOOLEANS = ['verbose', 'force-delete-pvc']

type Environment = Readonly<Record<string, string | undefined>>

export interface CodefreshSettings {
  readonly env: Record<string, string | undefined>
  /** The name by which each setting was given, by its full name here. */
  readonly names: ReadonlyMap<string, string>
}

/** Adds the settings of the public agent as fallback; a flag takes precedence over a variable. Throws `usage` for an unknown flag. */
export function withCodefreshSettings(env: Environment, args: readonly string[], prefix: string): CodefreshSettings {
  const flags = readFlags(args)
  const merged: Record<string, string | undefined> = { ...env }
  const names = new Map<string, string>()
  for (const { flag, env: variable, key, read } of CODEFRESH_SETTINGS) {
    const name = prefix + key
    const fromFlag = flags.get(flag)
    const given = fromFlag ?? env[variable]
    const isOwn = (env[name] ?? env[`${name}_FILE`] ?? '') !== ''
    if (given === undefined || given === '' || (isOwn && fromFlag === undefined)) continue
    const value = read === undefined ? given : read(given)
    if (value === undefined) continue
    merged[name] = value
    names.set(name, fromFlag === undefined ? variable : `--${flag}`)
  }
  return { env: merged, names }
}

function readFlags(args: readonly string[]): Map<string, string> {
  const all = [...CODEFRESH_SETTINGS.map(({ flag }) => flag), ...IGNORED_FLAGS]
  try {
    const { values } = parseArgs({
      args: args.map((arg) => (BOOLEANS.includes(arg.slice(2)) ? `${arg}=true` : arg)),
      options: Object.fromEntries(all.map((flag) => [flag, { type: 'string' as const }])),
      allowPositionals: true,
    })
    return new Map(Object.entries(values).flatMap(([flag, value]) => (typeof value === 'string' ? [[flag, value]] : [])))
  } catch (error) {
    throw fault('usage', { message: error instanceof Error ? error.message : String(error) }, error)
  }
}
