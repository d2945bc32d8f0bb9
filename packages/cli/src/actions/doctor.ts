import { systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { completeSpec, page, Runtime, type RuntimeLayer } from '@windlass/protocol'
import type { Invocation } from '../command.ts'
import { checkCluster } from '../doctor/check-cluster.ts'
import { checkNode } from '../doctor/check-node.ts'
import { checkServer } from '../doctor/check-server.ts'
import { EXIT } from '../exit-codes.ts'
import { nodeCheckOf } from '../runner/acceptance/network.ts'
import { openCluster } from '../runner/cluster/open-cluster.ts'
import type { Finding } from '../runner/acceptance/finding.ts'
import { openSession, type Session } from '../session.ts'
import type { Settings } from '../config.ts'

interface DoctorOptions {
  readonly only: 'server' | 'cluster' | undefined
  readonly pod: boolean
  readonly runtime: string | undefined
  readonly kubeContextName: string | undefined
  readonly kubeConfigPath: string | undefined
  readonly kubeNamespace: string | undefined
  readonly output: 'json' | undefined
}

/** `doctor`: what would keep builds from running, each with what to do. Exit code 1 when something does not work. */
export async function runDoctor({ options, out, settings }: Invocation<DoctorOptions>): Promise<number> {
  const findings: Finding[] = []
  const { style } = out.stdout
  const marks = { pass: style.green('✔'), warn: style.yellow('!'), fail: style.red('✘') }
  const report = (finding: Finding): void => {
    findings.push(finding)
    const { check, status, message, hint } = finding
    if (options.output === 'json') return out.line(JSON.stringify(finding))
    out.line(`${marks[status]} ${style.bold(check)}  ${message}`)
    if (hint !== undefined && status !== 'pass') out.line(`  ${style.dim('→')} ${hint}`)
  }
  const title = (text: string): void => {
    if (options.output !== 'json') out.line(style.bold(text))
  }
  const session = findSession(settings)
  if (options.only !== 'cluster' && session !== undefined) {
    title(`Server ${session.url}`)
    const { url, caFile, token } = session
    await checkServer({ url, token, caFile, environment: settings.environment, clock: systemClock }, report)
  }
  if (options.only !== 'server') {
    await using cluster = await openCluster({ kubeconfig: options.kubeConfigPath, context: options.kubeContextName }, settings)
    const layer = await findRuntime(session, options.runtime)
    const { runtimeScheduler, dockerDaemonScheduler } = completeSpec(layer)
    const namespace = options.kubeNamespace ?? runtimeScheduler.cluster.namespace ?? cluster.kube.namespace
    title(`Cluster ${cluster.context}, namespace ${namespace}`)
    const storageClass = dockerDaemonScheduler.pvcs.dind.storageClassName
    const isUp = await checkCluster({ kube: cluster.kube, namespace, storageClass }, report)
    if (isUp && options.pod && session !== undefined) {
      title('Inside of a pod')
      const { url: serverUrl, caFile } = session
      await checkNode(nodeCheckOf({ kube: cluster.kube, namespace, runtime: layer, serverUrl, caFile }), report)
    }
  }
  const [bad, poor] = (['fail', 'warn'] as const).map((status) => findings.filter((finding) => finding.status === status).length)
  if (options.output !== 'json') out.line(`\n${findings.length} checks: ${bad} failed, ${poor} to look at`)
  return bad === 0 ? EXIT.success : EXIT.failed
}

/** Without a server only the cluster is looked at. */
function findSession(settings: Settings): Session | undefined {
  try {
    return openSession(settings)
  } catch (error) {
    if (isFault(error, 'server-unreachable')) return undefined
    throw error
  }
}

/** The named runtime with all that it extends, or the default one; nothing where there is none. Throws `not-found`. */
async function findRuntime(session: Session | undefined, name: string | undefined): Promise<RuntimeLayer> {
  const { items } =
    session === undefined
      ? { items: [] }
      : await session.client.call('GET', '/v1/runtimes', page(Runtime)).catch((error: unknown) => {
          if (isFault(error)) return { items: [] }
          throw error
        })
  const found = items.find((runtime) => (name === undefined ? runtime.isDefault : runtime.name === name))
  if (found === undefined && name !== undefined) throw fault('not-found', { message: `There is no runtime ${name}.` })
  if (session === undefined || found === undefined) return {}
  const path = `/v1/runtimes/${encodeURIComponent(found.name)}`
  return (await session.client.call('GET', path, Runtime, { query: { merged: true } })).spec
}
