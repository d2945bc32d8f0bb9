/** `install agent` and `uninstall agent`. */
import { readFileSync } from 'node:fs'
import { isFault, fault } from '@windlass/kit/faults'
import { createAgent, deleteAgent, getAgent, listAgents, whichAgent, type NewAgent } from '../api-runner.ts'
import type { Invocation } from '../command.ts'
import { ensureNamespace, setSecretKeys, TOKEN_SECRET } from '../runner/cluster/secrets.ts'
import { agentNameOf, DEFAULT_NAMESPACE } from '../runner/init/names.ts'
import { openInstallPlace, RELEASE_NAME, type HelmFlags, type InstallPlace } from '../runner/install/place.ts'
import { addParts, removeParts } from '../runner/install/release.ts'
import { clientOf } from '../runner/log-in.ts'
import { toChartValues } from '../runner/values/chart-values.ts'
import { readWishes, type ValueFlags, type Wishes } from '../runner/values/wishes.ts'
import { printManifests } from '../runner/init/render.ts'
import { readInput } from '../input-files.ts'
import { openSession, type Session } from '../session.ts'
import { installRuntimeParts } from './install-runtime.ts'
import type { Settings } from '../config.ts'

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
  const flags = withAgentPlace(options)
  const session = openSession(settings)
  const wishes = readWishes(flags)
  if (options.platformOnly) {
    const agent = await findOrMakeAgent({
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
        wishes,
        session,
        settings,
        out,
        agentName: agent.name,
      })
    return out.line(agent.token)
  }
  await using place = await openInstallPlace(flags, options, settings)
  if (options.dryRun) return printManifests(out, await renderAgent(place, wishes, session, options.name))
  const taken = options.name === undefined ? (await listAgents(session.client)).map(({ name }) => name) : []
  const name = options.name ?? agentNameOf(place.cluster.context, place.namespace, taken)
  const agent = await findOrMakeAgent({ options, session, settings, name })
  out.note(`Agent: "${agent.name}"`)
  await ensureNamespace(place.cluster.kube, place.namespace)
  const secret = { namespace: place.namespace, name: TOKEN_SECRET.name }
  await setSecretKeys(place.cluster.kube, secret, { [TOKEN_SECRET.key]: agent.token })
  await addParts(place, { wishes, facts: agentFacts({ place, session, name: agent.name }) })
  out.note(`It runs in the namespace ${place.namespace} of ${place.cluster.context} (Helm release ${RELEASE_NAME}).`)
  if (options.installRuntime === true) {
    const runtime = await installRuntimeParts({ options, flags, wishes, session, settings, out, agentName: agent.name })
    out.note(`Runtime environment: ${runtime}`)
  }
  out.note('The token of the agent:')
  out.line(agent.token)
}

/** `--agent-kube-namespace` and `--kube-namespace` mean the same here; the original's documentation has both. */
function withAgentPlace(options: InstallAgentOptions): InstallAgentOptions {
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

/** The agent of a token (made again when it was deleted), or a new one. Throws `usage` when the token is another agent's. */
async function findOrMakeAgent({ options, session, settings, name }: AgentSearch): Promise<NewAgent> {
  const token = options.tokenFile === undefined ? options.token : readInput(options.tokenFile).text.trim()
  if (token === undefined) return createAgent(session.client, { name })
  const known = await whichAgent(clientOf(session, token, settings)).catch((error: unknown) => {
    if (isFault(error, 'unauthenticated')) return undefined
    throw error
  })
  if (known === undefined) return createAgent(session.client, { name, token })
  if (options.name !== undefined && options.name !== known.name)
    throw fault('usage', {
      message: `This token is that of the agent ${known.name}, not of ${options.name}.`,
      hint: 'Leave --name out.',
    })
  return { ...known, token }
}

function agentFacts({ place, session, name }: { place: InstallPlace; session: Session; name: string }) {
  return {
    url: session.url,
    context: place.cluster.context,
    agentName: name,
    runtimeName: undefined,
    tokenSecret: TOKEN_SECRET,
    ca: session.caFile === undefined ? undefined : readFileSync(session.caFile, 'utf8'),
    parts: { agent: true, runtime: false, monitor: false },
  }
}

async function renderAgent(place: InstallPlace, wishes: Wishes, session: Session, name: string | undefined) {
  const facts = { ...agentFacts({ place, session, name: name ?? 'dry-run-agent' }), namespace: place.namespace }
  return place.helm().render(place.release, toChartValues(wishes, facts))
}

export interface UninstallAgentOptions extends ValueFlags, HelmFlags {
  readonly name?: string | undefined
  readonly agentKubeNamespace?: string | undefined
}

/** Removes an agent from its cluster, then from the server. */
export async function uninstallAgent({ options, out, settings }: Invocation<UninstallAgentOptions>): Promise<void> {
  if (options.name === undefined)
    throw fault('usage', { message: 'Which agent?', hint: 'Add --name; `windlass get agents` lists them.' })
  const session = openSession(settings)
  const agent = await getAgent(session.client, options.name)
  await using place = await openInstallPlace(
    { ...options, kubeNamespace: options.agentKubeNamespace ?? options.kubeNamespace },
    options,
    settings,
  )
  await removeParts(place, ['agent'])
  await place.cluster.kube.delete({ kind: 'Secret', namespace: place.namespace, name: TOKEN_SECRET.name })
  await deleteAgent(session.client, agent.name)
  out.line(`Agent ${agent.name} was uninstalled`)
}
