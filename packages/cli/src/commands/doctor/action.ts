import { defined, systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { completeSpec, MAX_FINDINGS, type Runtime, type RuntimeLayer } from '@windlass/protocol'
import { z } from 'zod'
import type { Invocation } from '../../command.ts'
import { checkCluster } from '../../doctor/check-cluster.ts'
import { checkNode } from '../../doctor/check-node.ts'
import { checkServer } from '../../doctor/check-server.ts'
import type { Report } from '../../doctor/report.ts'
import { checkByAgent } from '../../doctor/check-by-agent.ts'
import { printFinding } from '../../doctor/print-finding.ts'
import { EXIT } from '../../exit-codes.ts'
import { nodeCheckOf, urlOfEngines } from '../../runner/acceptance/network.ts'
import { findKubeconfig, openCluster } from '../../runner/cluster/open-cluster.ts'
import type { Finding } from '../../runner/acceptance/finding.ts'
import { openSession, type Session } from '../../session/session.ts'
import type { Settings } from '../../config.ts'
import type { Printer } from '../../printer.ts'

interface DoctorOptions {
  readonly only: 'server' | 'cluster' | undefined
  readonly pod: boolean
  readonly agent: string | undefined
  readonly report: boolean
  readonly runtime: string | undefined
  readonly kubeContextName: string | undefined
  readonly kubeConfigPath: string | undefined
  readonly kubeNamespace: string | undefined
  readonly output: 'json' | undefined
}

/** Runs `doctor`. The exit code is 1 if a check fails. */
export async function runDoctor({ options, out, settings }: Invocation<DoctorOptions>): Promise<number> {
  refuseContrary(options)
  const findings: Finding[] = []
  const { style } = out.stdout
  const progress = openProgress(out, options.output === undefined)
  const take = (finding: Finding): void => {
    progress.clear()
    findings.push(finding)
    printFinding(out, finding, options.output)
  }
  const report: Report = Object.assign(take, { begin: progress.show })
  const title = (text: string): void => {
    progress.clear()
    if (options.output !== 'json') out.line(style.bold(text))
  }
  const finish = (): number => {
    progress.clear()
    const [failed, warned] = (['fail', 'warn'] as const).map(
      (status) => findings.filter((finding) => finding.status === status).length,
    )
    if (options.output !== 'json') out.line(`\n${findings.length} checks: ${failed} failed, ${warned} with warnings`)
    return failed === 0 ? EXIT.success : EXIT.failed
  }
  if (options.agent !== undefined) {
    title(`Agent ${options.agent}, from inside its clusters`)
    report.begin?.('agent')
    for (const finding of await checkByAgent(openSession(settings).client, options.agent)) report(finding)
    return finish()
  }
  const session = findSession(settings)
  if (options.only !== 'cluster' && session === undefined)
    report({
      check: 'server',
      status: options.only === 'server' ? 'fail' : 'warn',
      message: 'No server is configured.',
      hint: 'Start one with `windlass up`, or log in with `windlass auth login`.',
    })
  if (options.only !== 'cluster' && session !== undefined) {
    title(`Server ${session.url}`)
    const { url, caFile, token } = session
    await checkServer({ url, token, caFile, environment: settings.environment, clock: systemClock }, report)
  }
  // Builds on the Docker of this machine need no cluster.
  const { candidates, kubeconfig } = findKubeconfig(options.kubeConfigPath, settings)
  const { only, kubeConfigPath, kubeContextName, runtime } = options
  const isAsked = options.report || [only, kubeConfigPath, kubeContextName, runtime].some((value) => value !== undefined)
  if (kubeconfig === undefined && !isAsked)
    report({
      check: 'cluster',
      status: 'warn',
      message: `No kubeconfig found at ${candidates.join(' or ')}, so no cluster is checked.`,
      hint: 'Set one with --kube-config-path or KUBECONFIG. Builds on the Docker of this machine need none.',
    })
  else if (options.only !== 'server') {
    await using cluster = await openCluster({ kubeconfig: options.kubeConfigPath, context: options.kubeContextName }, settings)
    const found = await findRuntime(session, options.runtime, options.kubeNamespace)
    const { layer } = found
    const target = options.report ? requireTarget(session, found) : undefined
    const { runtimeScheduler, dockerDaemonScheduler } = completeSpec(layer)
    const namespace = options.kubeNamespace ?? runtimeScheduler.cluster.namespace ?? cluster.kube.namespace
    title(`Cluster ${cluster.context}, namespace ${namespace}`)
    const storageClass = dockerDaemonScheduler.pvcs.dind.storageClassName
    const isUp = await checkCluster({ kube: cluster.kube, namespace, storageClass }, report)
    if (isUp && options.pod && session !== undefined) {
      const { caFile } = session
      const serverUrl = await findEngineUrl(session, found)
      title(`From a pod to ${serverUrl}, as engines connect`)
      await checkNode(nodeCheckOf({ kube: cluster.kube, namespace, runtime: layer, serverUrl, caFile }), report)
    }
    if (target !== undefined) await storeReport(out, target, findings)
  }
  return finish()
}

/** Throws `usage` for options that exclude each other. */
function refuseContrary({ agent, report, only, runtime }: DoctorOptions): void {
  if (agent !== undefined && (report || only !== undefined || runtime !== undefined))
    throw fault('usage', {
      message: '--agent checks nothing from here, so --report, --only and --runtime do not apply.',
      hint: 'Omit them. The server stores what an agent finds.',
    })
  if (report && only === 'server')
    throw fault('usage', {
      message: '--report stores findings about a cluster, and --only server checks none.',
      hint: 'Omit --only.',
    })
}

/** Whose findings are stored. */
interface ReportTarget {
  readonly session: Session
  readonly agent: string
  readonly runtime: string
}

/** Throws `usage` if there is no server, or no agent that serves the runtime. */
function requireTarget(session: Session | undefined, { name: runtime, agent }: FoundRuntime): ReportTarget {
  if (session !== undefined && agent !== undefined && runtime !== undefined) return { session, agent, runtime }
  throw fault('usage', {
    message: '--report needs a server and a runtime that an agent serves.',
    hint: 'Name the runtime: `windlass doctor --runtime NAME --report`.',
  })
}

/** Stores the findings for the runtime of the checked cluster and its agent. */
async function storeReport(out: Printer, { session, agent, runtime }: ReportTarget, findings: readonly Finding[]): Promise<void> {
  const stored = findings.map(({ check, status, message, hint }) => ({
    check: check.slice(0, 300),
    status,
    message: message.slice(0, 2000),
    runtime,
    ...defined({ hint: hint?.slice(0, 2000) }),
  }))
  await session.client.agents.putChecks(agent, { findings: stored.slice(0, MAX_FINDINGS) })
  out.note(`The findings are stored for the runtime ${runtime} and its agent ${agent}.`)
}

interface Progress {
  /** Shows what is being checked, instead of the last one. */
  readonly show: (check: string) => void
  readonly clear: () => void
}

/** Shows the check that is running in the last line of a terminal. Other outputs get only findings. */
function openProgress({ stderr, stdout }: Printer, isWanted: boolean): Progress {
  const isShown = isWanted && stderr.isTTY && stdout.isTTY
  const write = (text: string): void => {
    if (isShown) stderr.write(`\r\x1B[K${text}`)
  }
  return { show: (check) => write(stderr.style.dim(`… ${check}`)), clear: () => write('') }
}

/** Opens the session if a server is configured; otherwise only the cluster is checked. */
function findSession(settings: Settings): Session | undefined {
  try {
    return openSession(settings)
  } catch (error) {
    if (isFault(error, 'server-unreachable')) return undefined
    throw error
  }
}

interface FoundRuntime {
  /** Undefined if there is no runtime. */
  readonly name: string | undefined
  /** Includes everything that it extends. */
  readonly layer: RuntimeLayer
  /** Name of the agent that serves it, if any. */
  readonly agent: string | undefined
}

/** Returns the server URL that engines use: that of the runtime, its agent, the server, or this session, in this order. */
async function findEngineUrl({ client, url }: Session, { layer, agent }: FoundRuntime): Promise<string> {
  const own = urlOfEngines(layer)
  if (own !== undefined) return own
  const known = agent === undefined ? undefined : await client.agents.get(agent).catch(ignoreFault)
  if (known?.serverUrl !== undefined) return known.serverUrl
  return (await client.server.status().catch(ignoreFault))?.advertisedUrl ?? url
}

function ignoreFault(error: unknown): undefined {
  if (!isFault(error)) throw error
}

/** Finds the named runtime, or else one of a cluster; an empty layer if there is none. Throws `not-found` for an unknown name. */
async function findRuntime(
  session: Session | undefined,
  name: string | undefined,
  namespace: string | undefined,
): Promise<FoundRuntime> {
  const { items } =
    session === undefined
      ? { items: [] }
      : await session.client.runtimes.list().catch((error: unknown) => {
          if (isFault(error)) return { items: [] }
          throw error
        })
  const found = name === undefined ? chooseRuntime(items, namespace) : items.find((runtime) => runtime.name === name)
  if (found === undefined && name !== undefined) throw fault('not-found', { message: `The runtime "${name}" does not exist.` })
  if (session === undefined || found === undefined) return { name: undefined, layer: {}, agent: undefined }
  const { spec: layer } = await session.client.runtimes.get(found.name, { query: { merged: true } })
  return { name: found.name, layer, agent: found.agent ?? (await findServing(session, found.name)) }
}

const Placed = z.looseObject({
  runtimeScheduler: z.looseObject({ cluster: z.looseObject({ namespace: z.string() }) }),
})

/** Chooses a runtime of a cluster: the default one, or one of the checked namespace, or the first. */
function chooseRuntime(items: readonly Runtime[], namespace: string | undefined): Runtime | undefined {
  const ofClusters = items.filter(({ type }) => type === 'kubernetes')
  const placeOf = (spec: unknown): string | undefined => Placed.safeParse(spec).data?.runtimeScheduler.cluster.namespace
  const ofNamespace = ofClusters.filter(({ spec }) => namespace !== undefined && placeOf(spec) === namespace)
  return ofClusters.find(({ isDefault }) => isDefault) ?? ofNamespace[0] ?? ofClusters[0]
}

/** Returns the agent that serves the runtime. */
async function findServing({ client }: Session, runtime: string): Promise<string | undefined> {
  const agents = await client.agents.list().catch(ignoreFault)
  return agents?.items.find(({ runtimes }) => runtimes.includes(runtime))?.name
}
