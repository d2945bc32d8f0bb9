/**
 * Judges a GitOps runtime by what its app-proxy has said and by what the server sees itself. A check of a part that is silent is unknown, and not failed: the silence is the problem then.
 */
import { sentences } from '@windlass/kit'
import {
  APP_PROXY_SILENT_MS,
  REPORTER_SILENT_MS,
  RUNTIME_CHECKS,
  type CheckResult,
  type ReporterHealth,
  type RuntimeCheck,
  type RuntimeReport,
  type RuntimeStatus,
  type Tunnel,
} from '@windlass/protocol'

/** What is known about a runtime. */
export interface RuntimeFacts {
  readonly runtime: string
  readonly tunnel: Pick<Tunnel, 'status' | 'seenAt'>
  /** Last report of the app-proxy; undefined if there was none. */
  readonly appProxy: { readonly report: RuntimeReport; readonly heardAt: number } | undefined
  readonly reporters: readonly KnownReporter[]
  readonly clusters: RuntimeStatus['clusters']
  /** True if the account has chosen a shared repository. */
  readonly hasSharedRepository: boolean
}

interface KnownReporter extends Omit<ReporterHealth, 'isSilent'> {
  /** Since when the server knows that there is such a part. */
  readonly knownAt: number
}

const NOT_STARTED: CheckResult = {
  status: 'unknown',
  description: 'No app-proxy of the runtime has reported yet.',
  hint: 'Install the chart of the runtime, or upgrade it: app-proxies of earlier versions do not report.',
}

/** Returns what callers see of a runtime. Pure. */
export function judgeRuntime(facts: RuntimeFacts, now: number): RuntimeStatus {
  const { runtime, tunnel, appProxy, clusters } = facts
  const isSilent = appProxy !== undefined && now - appProxy.heardAt > APP_PROXY_SILENT_MS
  const checks = RUNTIME_CHECKS.map((name): RuntimeCheck => ({ name, ...checkOf(name, facts, isSilent) }))
  const reporters = facts.reporters.map(({ knownAt, ...reporter }) => ({
    ...reporter,
    isSilent: now - (reporter.heardAt ?? knownAt) > REPORTER_SILENT_MS,
  }))
  const report = isSilent ? undefined : appProxy?.report
  return {
    runtime,
    checks,
    syncMode: report?.syncMode ?? 'unknown',
    argoCd: report?.argoCd ?? { state: 'unknown' },
    appProxy:
      appProxy === undefined ? { isSilent: false } : { version: appProxy.report.version, heardAt: appProxy.heardAt, isSilent },
    tunnel: { status: tunnel.status, ...(tunnel.seenAt !== undefined && { seenAt: tunnel.seenAt }) },
    reporters,
    clusters,
    problems: problemsOf({ runtime, checks, reporters, argoCd: report?.argoCd, clusters }),
  }
}

function checkOf(
  name: RuntimeCheck['name'],
  { runtime, appProxy, hasSharedRepository }: RuntimeFacts,
  isSilent: boolean,
): CheckResult {
  if (appProxy === undefined) return NOT_STARTED
  const since = new Date(appProxy.heardAt).toISOString()
  if (name === 'appProxyStarted')
    return isSilent
      ? {
          status: 'failed',
          description: `The app-proxy has not reported since ${since}.`,
          hint: 'Check its pod, its token and its way to this server: `kubectl logs deployment/cap-app-proxy`.',
        }
      : { status: 'successful', description: `The app-proxy ${appProxy.report.version} reports.` }
  if (isSilent) return { status: 'unknown', description: `The app-proxy has not reported since ${since}.` }
  if (name === 'isc' && !hasSharedRepository)
    return {
      status: 'failed',
      description: 'The account has not chosen a shared configuration repository.',
      hint: `An admin chooses one: \`windlass gitops config set ${runtime} --shared-config-repo URL\`.`,
    }
  return appProxy.report.checks[name] ?? { status: 'unknown', description: 'The app-proxy does not know this check.' }
}

type Judged = Pick<RuntimeStatus, 'runtime' | 'checks' | 'reporters' | 'clusters'> & {
  readonly argoCd: RuntimeStatus['argoCd'] | undefined
}

const ARGO_CD_PROBLEMS = {
  'not-found': 'Argo CD does not answer.',
  'not-authorized': 'Argo CD does not accept the token of the runtime.',
} as const

function problemsOf({ runtime, checks, reporters, argoCd, clusters }: Judged): string[] {
  const failed = checks.filter(({ status }) => status === 'failed')
  const isNamed = failed.some(({ name }) => name === 'eventReporterArgoCDToken')
  const state = argoCd?.state
  // A token that Argo CD refuses is a failed check already.
  const isArgoBroken = state === 'not-found' || (state === 'not-authorized' && !isNamed)
  return [
    ...failed.map(({ description, hint }) => sentences(description, hint)),
    ...(isArgoBroken ? [argoCd?.message ?? ARGO_CD_PROBLEMS[state]] : []),
    ...reporters.flatMap((reporter) => problemOfReporter(reporter) ?? []),
    ...(clusters.failed > 0
      ? [`Argo CD cannot reach ${clusters.failed} of ${clusters.count} clusters: \`windlass gitops cluster list ${runtime}\`.`]
      : []),
  ]
}

function problemOfReporter({ shard, shards, heardAt, completeAt, isBlind, isSilent }: ReporterHealth): string | undefined {
  const name = shards === 1 ? 'The event reporter' : `The event reporter ${shard} of ${shards}`
  if (heardAt === undefined) return isSilent ? `${name} has never reported: check its pod.` : undefined
  if (isSilent)
    return `${name} has not reported since ${new Date(heardAt).toISOString()}: check its pod, and its way to this server.`
  if (!isBlind) return undefined
  const since = completeAt === undefined ? '' : ` since ${new Date(completeAt).toISOString()}`
  return `${name} cannot read all applications${since}: check that the cluster has Argo CD, and the role of the reporter.`
}
