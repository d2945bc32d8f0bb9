/** The actions of the steps of `runner init`. Each can be interrupted at any point and called again. */
import { writeFileSync } from 'node:fs'
import { defined, systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { isRecord } from '@windlass/kit/json'
import type { Settings } from '../../config.ts'
import type { Printer } from '../../printer.ts'
import type { Session } from '../../session/session.ts'
import { APP_PROXY_SECRET, appProxyNameOf } from '../app-proxy/address.ts'
import { appProxyFacts, proxyParts } from '../app-proxy/facts.ts'
import { registerAppProxy } from '../app-proxy/register.ts'
import { writeRuntimeFile } from '../attach/attach.ts'
import { testFromPod, urlOfEngines } from '../acceptance/network.ts'
import { requireFitCluster, testCluster } from '../acceptance/test-cluster.ts'
import { ensureNamespace, lastingToken, readSecret, setSecretKeys, TOKEN_SECRET } from '../cluster/secrets.ts'
import { DEMO_PIPELINE, putDemo, runDemo } from '../demo.ts'
import type { Helm } from '../helm/helm.ts'
import { showStarting } from '../install/starting-pods.ts'
import { RELEASE_NAME } from '../install/target.ts'
import { toChartValues, type InstallFacts } from '../values/chart-values.ts'
import { mergeTrees, type Tree } from '../values/read-values.ts'
import type { InstallValues } from '../values/install-values.ts'
import { AGENT_WAIT_MS, type StepName } from './plan.ts'
import type { Prepared } from './prepare.ts'
import { renderRuntime } from './render.ts'
import type { Progress } from './run-plan.ts'

export interface InstallContext extends Prepared {
  readonly installValues: InstallValues
  readonly session: Session
  readonly helm: Helm
  readonly progress: Progress
  readonly settings: Settings
  readonly out: Printer
  /** PEM of the server's certificate authority, passed to all installed components. */
  readonly ca: string | undefined
  readonly demoImage: string | undefined
  /** True if an earlier run started the step that creates the agent. */
  readonly wasBegun: boolean
  /** The agent's token, once known to this process. */
  token: string | undefined
}

export function installActions(context: InstallContext): Readonly<Record<StepName, () => Promise<string | void>>> {
  return {
    'test-cluster': () => runTests(context),
    'create-agent': () => registerAgent(context),
    'store-token': () => storeToken(context),
    'create-runtime': () => registerRuntime(context),
    'set-default': async () => void (await context.session.client.runtimes.makeDefault(context.names.runtimeName)),
    'add-cluster': () => addCluster(context),
    'register-app-proxy': () => registerProxy(context),
    'install-runner': () => installRunner(context),
    'check-runner': () => checkRunner(context),
    'write-helm-values': () => writeHelmValues(context),
    'create-demo': () => createDemo(context),
    'run-demo': () => executeDemo(context),
  }
}

/** Returns what the chart needs apart from the values. */
export function factsOf(context: Pick<InstallContext, 'names' | 'choices' | 'session' | 'ca'>): InstallFacts {
  const { names, choices, session, ca } = context
  const parts = { agent: true, runtime: true, monitor: choices.monitor }
  return {
    ...names,
    url: session.clusterUrl ?? session.url,
    tokenSecret: TOKEN_SECRET,
    ca,
    parts,
    appProxy: choices.appProxy ? appProxyFacts(session) : undefined,
    readsFiles: choices.helmValuesFile === undefined,
  }
}

function valuesOf(context: InstallContext): Tree {
  return toChartValues(context.installValues, factsOf(context))
}

async function runTests(context: InstallContext): Promise<void> {
  const { cluster, names, installValues, choices, out, helm, session } = context
  const { StorageClass, Storage } = installValues.installer
  const parts = {
    agent: true,
    runtime: true,
    provisioner: StorageClass === undefined,
    monitor: choices.monitor,
    ...proxyParts(installValues),
  }
  const localDisks = StorageClass === undefined && (Storage?.Backend ?? 'local') === 'local'
  const { namespace } = names
  requireFitCluster(await testCluster({ kube: cluster.kube, namespace, parts, localDisks }), out)
  await ensureNamespace(cluster.kube, namespace)
  const { spec } = await renderRuntime(helm, { name: RELEASE_NAME, namespace }, valuesOf(context))
  const runtime = isRecord(spec) ? spec : {}
  const serverUrl = urlOfEngines(runtime) ?? session.clusterUrl ?? session.url
  requireFitCluster(await testFromPod({ kube: cluster.kube, namespace, runtime, serverUrl, caFile: session.caFile }), out)
}

async function registerAgent(context: InstallContext): Promise<string> {
  const { session, names, installValues, progress } = context
  const { AgentToken } = installValues.installer
  try {
    const agent = await session.client.agents.create({ name: names.agentName, token: AgentToken })
    context.token = agent.token
    progress.update({ agentId: agent.id })
    return agent.name
  } catch (error) {
    // An earlier run was interrupted after the server's response: the agent belongs to it, but the token is lost.
    const isOurs = isFault(error, 'conflict') && context.wasBegun
    if (!isOurs) throw error
    const agent = await session.client.agents.renewToken(names.agentName)
    context.token = agent.token
    progress.update({ agentId: agent.id })
    return agent.name
  }
}

/** Returns the token of this run, that of the Secret, or a new one, in this order. */
async function findToken(context: InstallContext): Promise<string> {
  const { cluster, names, progress, session } = context
  const stored = (await readSecret(cluster.kube, names.namespace, TOKEN_SECRET.name))?.[TOKEN_SECRET.key]
  const isOurs = stored !== undefined && progress.state.agentId !== undefined && stored.startsWith(progress.state.agentId)
  const token = context.token ?? (isOurs ? stored : (await session.client.agents.renewToken(names.agentName)).token)
  context.token = token
  return token
}

async function storeToken(context: InstallContext): Promise<string> {
  const { cluster, names } = context
  const result = await ensureNamespace(cluster.kube, names.namespace)
  const token = await findToken(context)
  await setSecretKeys(cluster.kube, { namespace: names.namespace, name: TOKEN_SECRET.name }, { [TOKEN_SECRET.key]: token })
  await writeRuntimeFile({ cluster, namespace: names.namespace }, { name: names.runtimeName, namespaces: [names.namespace] })
  return `Secret ${TOKEN_SECRET.name} in ${result === 'created' ? 'the new namespace ' : ''}${names.namespace}`
}

async function registerRuntime(context: InstallContext): Promise<string> {
  const { session, names, helm } = context
  const body = await renderRuntime(helm, { name: RELEASE_NAME, namespace: names.namespace }, valuesOf(context))
  await session.client.runtimes.put(body.name, body, { query: { description: 'runner init' } })
  const agent = await session.client.agents.get(names.agentName)
  if (!agent.runtimes.includes(body.name)) await session.client.agents.patch(agent.name, { addRuntimes: [body.name] })
  return body.name
}

async function addCluster({ session, cluster, names, installValues }: InstallContext): Promise<string> {
  const { items: known } = await session.client.clusters.list()
  const name = installValues.installer.ClusterId ?? cluster.context
  if (known.some((one) => one.name === name)) return `${name} is already registered`
  await ensureNamespace(cluster.kube, names.namespace)
  const server = installValues.installer.KubernetesHost ?? cluster.access.server
  const token = await lastingToken(cluster.kube, names.namespace, 'default')
  const { ca } = cluster.access
  await session.client.clusters.create({
    name,
    provider: 'local',
    behindFirewall: true,
    server,
    token,
    namespace: names.namespace,
    ...defined({ ca }),
  })
  return name
}

async function registerProxy({ session, cluster, names }: InstallContext): Promise<string> {
  const { kube } = cluster
  const name = appProxyNameOf(names.runtimeName)
  const server = session.clusterUrl ?? session.url
  const place = { namespace: names.namespace, secret: APP_PROXY_SECRET }
  await registerAppProxy({ client: session.client, kube, ...place, name, server })
  return `Secret ${place.secret} in ${place.namespace}`
}

async function installRunner(context: InstallContext): Promise<string> {
  const { helm, names, cluster, out } = context
  const release = { name: RELEASE_NAME, namespace: names.namespace }
  await showStarting({ kube: cluster.kube, release, out, clock: systemClock }, helm.install(release, valuesOf(context)))
  return `release ${RELEASE_NAME} in ${names.namespace}`
}

async function checkRunner({ session, names }: InstallContext): Promise<string> {
  const end = systemClock.now() + AGENT_WAIT_MS
  for (;;) {
    const agent = await session.client.agents.get(names.agentName)
    if (agent.status === 'online') return `${agent.name} is online`
    if (systemClock.now() > end)
      throw fault('install-failed', {
        message: `The agent ${agent.name} did not connect to the server at ${session.clusterUrl ?? session.url} within ${AGENT_WAIT_MS / 1000} s.`,
        hint: `Check its log: \`kubectl --namespace ${names.namespace} logs deployment/runner\`.`,
      })
    await systemClock.sleep(500)
  }
}

async function writeHelmValues(context: InstallContext): Promise<string> {
  const path = context.choices.helmValuesFile ?? ''
  const values = toChartValues(context.installValues, { ...factsOf(context), tokenSecret: undefined })
  const token = context.token ?? (await context.session.client.agents.renewToken(context.names.agentName)).token
  const whole = mergeTrees(values, { global: { agentToken: token } })
  // JSON is valid YAML, and the format that the Codefresh CLI writes.
  writeFileSync(path, `${JSON.stringify(whole, null, 2)}\n`, { mode: 0o600 })
  return path
}

async function createDemo({ session, names, installValues, demoImage }: InstallContext): Promise<string> {
  const registry = installValues.installer.DockerRegistry
  return putDemo(session.client, { runtime: names.runtimeName, registry, image: demoImage })
}

async function executeDemo({ session, names, out }: InstallContext): Promise<void> {
  const code = await runDemo(session.client, names.runtimeName, out)
  if (code !== 0)
    throw fault('install-failed', {
      message: `The demo pipeline ${DEMO_PIPELINE} did not succeed.`,
      hint: `List its builds with \`windlass get builds --pipeline ${DEMO_PIPELINE}\`; run it again with \`windlass runner execute-test-pipeline --runtime-name ${names.runtimeName}\`.`,
    })
}
