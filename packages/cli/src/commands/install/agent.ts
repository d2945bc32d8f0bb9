/** The commands `install agent` and `uninstall agent`. */
import { readFileSync } from 'node:fs'
import { isFault, fault } from '@windlass/kit/faults'
import type { Invocation } from '../../command.ts'
import { ensureNamespace, setSecretKeys, TOKEN_SECRET } from '../../runner/cluster/secrets.ts'
import { agentNameOf, DEFAULT_NAMESPACE } from '../../runner/init/names.ts'
import { openInstallTarget, RELEASE_NAME, type HelmFlags, type InstallTarget } from '../../runner/install/target.ts'
import { INSTALL_MS } from '../../runner/helm/helm.ts'
import { addParts, removeParts } from '../../runner/install/release.ts'
import { clientOf } from '../../runner/log-in.ts'
import { toChartValues } from '../../runner/values/chart-values.ts'
import { readInstallValues, type ValueFlags, type InstallValues } from '../../runner/values/install-values.ts'
import { printManifests } from '../../runner/init/render.ts'
import { readTokenFile } from '../../input/token-file.ts'
import { withClusterUrl } from '../../runner/cluster-url.ts'
import { openSession, type Session } from '../../session/session.ts'
import { installRuntimeParts } from './runtime.ts'
import type { Settings } from '../../config.ts'

export interface InstallAgentOptions extends ValueFlags, HelmFlags {
  readonly name?: string | undefined
  readonly token?: string | undefined
  readonly tokenFile?: string | undefined
  readonly dryRun: boolean
  readonly installRuntime?: boolean | undefined
  readonly runtimeName?: string | undefined
  readonly skipReCreation?: boolean | undefined
  readonly skipClusterCreation?: boolean | undefined
  readonly makeDefaultRuntime?: boolean | undefined
  readonly agentKubeContextName?: string | undefined
  readonly agentKubeNamespace?: string | undefined
  readonly platformOnly: boolean
}

/** Registers an agent unless its token is given, installs it, and prints the token as the last line. */
export async function installAgent({ options, out, settings }: Invocation<InstallAgentOptions>): Promise<void> {
  const flags = withAgentTarget(options)
  const current = openSession(settings)
  const session = options.platformOnly || options.dryRun ? current : await withClusterUrl(current, out)
  const installValues = readInstallValues(flags)
  if (options.platformOnly) {
    const agent = await findOrCreateAgent({
      options,
      session,
      settings,
      name: options.name ?? agentNameOf('platform', flags.kubeNamespace ?? DEFAULT_NAMESPACE, []),
    })
    out.note(`Agent: "${agent.name}" created`)
    if (options.installRuntime === true)
      await installRuntimeParts({
        options: { ...options, platformOnly: true },
        flags,
        installValues,
        session,
        settings,
        out,
        agentName: agent.name,
      })
    return out.line(agent.token)
  }
  await using target = await openInstallTarget(flags, options, settings)
  if (options.dryRun) return printManifests(out, await renderAgent(target, installValues, session, options.name))
  const taken = options.name === undefined ? (await session.client.agents.list()).items.map(({ name }) => name) : []
  const name = options.name ?? agentNameOf(target.cluster.context, target.namespace, taken)
  const agent = await findOrCreateAgent({ options, session, settings, name })
  out.note(`Agent: "${agent.name}"`)
  await ensureNamespace(target.cluster.kube, target.namespace)
  const secret = { namespace: target.namespace, name: TOKEN_SECRET.name }
  await setSecretKeys(target.cluster.kube, secret, { [TOKEN_SECRET.key]: agent.token })
  out.note(`Installing with Helm (up to ${INSTALL_MS / 60_000} min)`)
  await addParts(target, { installValues, facts: agentFacts({ target, session, name: agent.name }) })
  out.note(`Installed in namespace ${target.namespace} of ${target.cluster.context} (Helm release ${RELEASE_NAME}).`)
  if (options.installRuntime === true) {
    const runtime = await installRuntimeParts({ options, flags, installValues, session, settings, out, agentName: agent.name })
    out.note(`Runtime environment: ${runtime}`)
  }
  out.note('Agent token:')
  out.line(agent.token)
}

/** Treats `--agent-kube-namespace` and `--kube-namespace` as the same option; the Codefresh documentation uses both. */
function withAgentTarget<T extends Pick<InstallAgentOptions, 'agentKubeNamespace' | 'agentKubeContextName'> & ValueFlags>(
  options: T,
): T {
  return {
    ...options,
    kubeNamespace: options.agentKubeNamespace ?? options.kubeNamespace,
    kubeContextName: options.agentKubeContextName ?? options.kubeContextName,
  }
}

interface AgentSearch {
  readonly options: Pick<InstallAgentOptions, 'name' | 'token' | 'tokenFile'>
  readonly session: Session
  readonly settings: Settings
  readonly name: string
}

/** Returns the agent of the token (restored if it was deleted), or a new one. Throws `usage` if the token belongs to another agent. */
async function findOrCreateAgent({ options, session, settings, name }: AgentSearch): Promise<{ name: string; token: string }> {
  const token = options.tokenFile === undefined ? options.token : readTokenFile(options.tokenFile)
  if (token === undefined) return session.client.agents.create({ name })
  const known = await clientOf(session, token, settings)
    .agents.self()
    .catch((error: unknown) => {
      if (isFault(error, 'unauthenticated')) return undefined
      throw error
    })
  if (known === undefined) return session.client.agents.create({ name, token })
  if (options.name !== undefined && options.name !== known.name)
    throw fault('usage', {
      message: `The token belongs to the agent ${known.name}, not to ${options.name}.`,
      hint: 'Remove --name.',
    })
  return { ...known, token }
}

function agentFacts({ target, session, name }: { target: InstallTarget; session: Session; name: string }) {
  return {
    url: session.clusterUrl ?? session.url,
    context: target.cluster.context,
    agentName: name,
    runtimeName: undefined,
    tokenSecret: TOKEN_SECRET,
    ca: session.caFile === undefined ? undefined : readFileSync(session.caFile, 'utf8'),
    parts: { agent: true, runtime: false, monitor: false },
  }
}

async function renderAgent(target: InstallTarget, installValues: InstallValues, session: Session, name: string | undefined) {
  const facts = { ...agentFacts({ target, session, name: name ?? 'dry-run-agent' }), namespace: target.namespace }
  return target.helm().render(target.release, toChartValues(installValues, facts))
}

export interface UninstallAgentOptions extends ValueFlags, HelmFlags {
  readonly name?: string | undefined
  readonly agentKubeContextName?: string | undefined
  readonly agentKubeNamespace?: string | undefined
}

/** Removes an agent from its cluster, then from the server. */
export async function uninstallAgent({ options, out, settings }: Invocation<UninstallAgentOptions>): Promise<void> {
  if (options.name === undefined)
    throw fault('usage', { message: 'No agent was given.', hint: 'Add --name; list them with `windlass get agents`.' })
  const session = openSession(settings)
  const agent = await session.client.agents.get(options.name)
  await using target = await openInstallTarget(withAgentTarget(options), options, settings)
  await removeParts(target, ['agent'])
  await target.cluster.kube.delete({ kind: 'Secret', namespace: target.namespace, name: TOKEN_SECRET.name })
  await session.client.agents.delete(agent.name)
  out.line(`Agent ${agent.name} was uninstalled`)
}
