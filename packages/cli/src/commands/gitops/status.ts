/** `gitops status`: what works and what is broken in a GitOps runtime. */
import { systemClock } from '@windlass/kit'
import type { ArgoCdState, CheckStatus, ReporterHealth, RuntimeCheckName, RuntimeStatus, SyncMode } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { paintStatus, type Style } from '../../format/style.ts'
import { formatAge } from '../../format/time.ts'
import { openSession } from '../../session/session.ts'

const NAMES = {
  appProxyStarted: 'app-proxy',
  encryptionKey: 'key of the Git tokens',
  encryptionIv: 'random part of the key',
  defaultGitIntegration: 'default Git integration',
  runtimeGitToken: 'Git token of the runtime',
  isc: 'shared repository',
  gitSourceConfigured: 'Git source',
  eventReporterArgoCDToken: 'token of Argo CD',
} as const satisfies Readonly<Record<RuntimeCheckName, string>>

const STATUSES = { successful: 'ok', failed: 'failed', unknown: 'unknown' } as const satisfies Readonly<
  Record<CheckStatus, string>
>

const MODES = {
  gitops: 'by Argo CD, from the shared repository',
  helm: 'by Helm',
  unknown: 'unknown',
} as const satisfies Readonly<Record<SyncMode, string>>

const ARGO_CD = {
  connected: 'connected',
  'not-authorized': 'does not accept the token',
  'not-found': 'does not answer',
  unknown: 'unknown',
} as const satisfies Readonly<Record<ArgoCdState, string>>

/** Runs `gitops status RUNTIME`. */
export async function showStatus({
  args,
  options,
  out,
  settings,
}: Invocation<{ output: 'json' | 'yaml' | undefined }>): Promise<void> {
  const status = await openSession(settings).client.gitopsStatus.get(args[0] ?? '')
  if (options.output !== undefined) return printValue(out, status, options.output)
  for (const line of describe(status, out.stdout.style)) out.line(line)
  return undefined
}

function describe(status: RuntimeStatus, style: Style): string[] {
  const { runtime, tunnel, appProxy, argoCd, syncMode, clusters, checks, reporters, problems } = status
  const now = systemClock.now()
  const ago = (at: number | undefined): string => (at === undefined ? 'never' : `${formatAge(at, now)} ago`)
  const facts = [
    ['Runtime:', runtime],
    ['Tunnel:', `${paintStatus(style, tunnel.status)}${tunnel.seenAt === undefined ? '' : `, last seen ${ago(tunnel.seenAt)}`}`],
    ['App-proxy:', `${appProxy.version === undefined ? '' : `${appProxy.version}, `}last report ${ago(appProxy.heardAt)}`],
    ['Installed:', MODES[syncMode]],
    ['Argo CD:', ARGO_CD[argoCd.state]],
    ['Clusters:', clusters.failed === 0 ? String(clusters.count) : `${clusters.count}, ${clusters.failed} not reachable`],
  ]
  const rows = checks.map(({ name, status: result, description }) => [
    // A newer server has further checks.
    NAMES[name] ?? name,
    paintStatus(style, result === 'successful' ? 'success' : result, STATUSES[result]),
    description,
  ])
  const lines = [...alignColumns(facts), '', ...alignColumns([titles(style, 'CHECK', 'STATUS', 'FOUND'), ...rows])]
  if (reporters.length > 0) {
    const head = titles(style, 'REPORTER', 'VERSION', 'LAST REPORT', 'STATE')
    const parts = reporters.map((reporter) => [
      `${reporter.shard} of ${reporter.shards}`,
      reporter.version,
      ago(reporter.heardAt),
      stateOf(reporter, style),
    ])
    lines.push('', ...alignColumns([head, ...parts]))
  }
  if (problems.length > 0) lines.push('', ...problems)
  return lines
}

function titles(style: Style, ...names: readonly string[]): string[] {
  return names.map((name) => style.dim(name))
}

function stateOf({ isSilent, isBlind }: ReporterHealth, style: Style): string {
  if (isSilent) return style.red('silent')
  return isBlind ? style.yellow('cannot read all applications') : style.green('ok')
}
