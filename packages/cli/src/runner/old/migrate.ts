/**
 * From a Runner of the 0.x kind (deployment `venona`) to one of today: what people set on its pods is kept in `migration.json` first, and set again
 * on the new agent (runner specification 6.9).
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import type { Kube, KubeObject } from '@windlass/kube'
import { z } from 'zod'
import { createAgent, getRuntime, patchAgent, putRuntime, renewToken } from '../../api-runner.ts'
import type { Invocation } from '../../command.ts'
import type { Session } from '../../session.ts'
import type { UpgradeOptions } from '../../actions/runner-upgrade.ts'
import { setSecretKeys, TOKEN_SECRET } from '../cluster/secrets.ts'
import { putDemo } from '../demo.ts'
import { silentAsker, terminalAsker } from '../init/asker.ts'
import { agentNameOf } from '../init/names.ts'
import type { InstallPlace } from '../install/place.ts'
import { addParts } from '../install/release.ts'
import { isTree, type Tree } from '../values/read-values.ts'
import { readWishes } from '../values/wishes.ts'

/** Name of the deployment and secret of the 0.x kind. */
export const OLD_NAME = 'venona'
export const MIGRATION_FILE = 'migration.json'
const GONE_WAIT_MS = 60_000

const Container = z.looseObject({
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
})
const DeploymentShape = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        containers: z.array(Container).min(1),
        nodeSelector: z.record(z.string(), z.string()).optional(),
        tolerations: z.array(z.record(z.string(), z.unknown())).optional(),
      }),
    }),
  }),
})

/** What is carried over. */
export const Migration = z.object({
  tolerations: z.array(z.record(z.string(), z.unknown())),
  nodeSelector: z.record(z.string(), z.string()),
  env: z.record(z.string(), z.string()),
})
export type Migration = z.infer<typeof Migration>

/** The old agent's deployment; undefined when the namespace has none. */
export async function findOldRunner(kube: Kube, namespace: string): Promise<KubeObject | undefined> {
  return kube.find({ kind: 'Deployment', namespace, name: OLD_NAME })
}

/** Variables that the old agent had for itself; the new one has its own. */
const OWN_VARIABLES =
  /^(SELF_DEPLOYMENT_INFO|CODEFRESH_TOKEN|CODEFRESH_HOST|AGENT_MODE|AGENT_NAME|AGENT_ID|DOCKER_REGISTRY|LOGGER_LEVEL|VENONA_CONFIG_DIR)$/

/** Reads what people set on the old pods. Tolerations that every pod gets from Kubernetes are left out. Pure. */
export function readOldSettings(deployment: unknown): Migration {
  const { spec } = DeploymentShape.parse(deployment).spec.template
  const variables = spec.containers[0]?.env ?? []
  const env = variables.flatMap(({ name, value }) => (value === undefined || OWN_VARIABLES.test(name) ? [] : [[name, value]]))
  return {
    tolerations: (spec.tolerations ?? []).filter(({ key }) => typeof key !== 'string' || !key.startsWith('node.kubernetes.io/')),
    nodeSelector: spec.nodeSelector ?? {},
    env: Object.fromEntries(env),
  }
}

/** The specification of a runtime with the storage class of the new provisioner: `…-venona-…` becomes `…-runner-…`. Pure. */
export function renameStorageClass(spec: Tree): Tree {
  const rename = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replace(/^dind-local-volumes-venona-/, 'dind-local-volumes-runner-')
    if (Array.isArray(value)) return value.map(rename)
    if (!isTree(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, key === 'annotations' ? inner : rename(inner)]))
  }
  const dind = spec['dockerDaemonScheduler']
  if (!isTree(dind)) return spec
  return { ...spec, dockerDaemonScheduler: { ...dind, pvcs: rename(dind['pvcs']) } }
}

interface Move {
  readonly old: KubeObject
  readonly place: InstallPlace
  readonly session: Session
  readonly invocation: Invocation<UpgradeOptions>
}

/** Replaces the old agent; the runtime, its name and its pipelines stay. Throws `usage` without the runtime's name. */
export async function migrateOldRunner({ old, place, session, invocation }: Move): Promise<void> {
  const { options, out } = invocation
  if (options.runtimeName === undefined)
    throw fault('usage', {
      message: 'Which runtime environment does the old agent serve?',
      hint: 'Add --runtime-name; `windlass get re` lists them.',
    })
  const runtime = await getRuntime(session.client, options.runtimeName)
  const settings = readOldSettings(old)
  await confirmMove({ place, runtime: runtime.name, invocation })
  const path = join(process.cwd(), MIGRATION_FILE)
  writeFileSync(path, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 })
  out.note(`What was set on the old agent is in ${path}.`)
  await removeOld(place)
  const name = options.agentName ?? agentNameOf(place.cluster.context, place.namespace, [])
  const { type, isDefault, spec } = runtime
  const agent = await createAgent(session.client, { name, runtimes: [runtime.name] }).catch(async (error: unknown) => {
    // A migration that was cut short made it already.
    if (!isFault(error, 'conflict')) throw error
    return renewToken(session.client, name)
  })
  await patchAgent(session.client, agent.name, { runtimes: [runtime.name] })
  const body = { name: runtime.name, type, isDefault, agent: agent.name, spec: renameStorageClass(spec) }
  await putRuntime(session.client, body, 'migration from 0.x')
  await setSecretKeys(
    place.cluster.kube,
    { namespace: place.namespace, name: TOKEN_SECRET.name },
    { [TOKEN_SECRET.key]: agent.token },
  )
  await installNew({ place, session, invocation }, { settings, agentName: agent.name, runtimeName: runtime.name })
  await putDemo(session.client, { runtime: runtime.name, registry: undefined, image: undefined })
  out.line(`The Runner in ${place.namespace} was migrated; its agent is ${agent.name}`)
}

async function confirmMove({
  place,
  runtime,
  invocation,
}: {
  place: InstallPlace
  runtime: string
  invocation: Move['invocation']
}): Promise<void> {
  const { options, out } = invocation
  out.note(
    `The agent ${OLD_NAME} in ${place.namespace} is of the 0.x kind. It is removed, and an agent of today takes its place for ${runtime}.`,
  )
  out.note('Let no build run on it meanwhile.')
  const asks = !options.yes && process.stdin.isTTY === true
  if (!options.yes && !asks) throw fault('usage', { message: 'There is no terminal to ask on.', hint: 'Add --yes.' })
  const asker = asks ? terminalAsker() : silentAsker
  if (!(await asker.yesNo('Migrate it?', !asks)))
    throw fault('usage', { message: 'Nothing was changed.', hint: 'Answer yes to migrate.' })
}

async function removeOld({ cluster, namespace }: InstallPlace): Promise<void> {
  const { kube } = cluster
  await kube.delete({ kind: 'Deployment', namespace, name: OLD_NAME })
  await kube.delete({ kind: 'Secret', namespace, name: OLD_NAME })
  const end = systemClock.now() + GONE_WAIT_MS
  while ((await kube.list({ kind: 'Pod', namespace, labels: `app=${OLD_NAME}` })).length > 0) {
    if (systemClock.now() > end)
      throw fault('install-failed', {
        message: `The pods of the old agent are still there after ${GONE_WAIT_MS / 1000} s.`,
        hint: 'Call it again.',
      })
    await systemClock.sleep(500)
  }
}

async function installNew(
  { place, session, invocation }: Omit<Move, 'old'>,
  found: { settings: Migration; agentName: string; runtimeName: string },
): Promise<void> {
  const given = readWishes(invocation.options)
  const { tolerations, nodeSelector, env } = found.settings
  const installer = { ...given.installer, Tolerations: tolerations, NodeSelector: nodeSelector, EnvVars: env }
  const parts = { agent: true, runtime: true, monitor: invocation.options.installMonitor ?? false }
  const facts = {
    url: session.url,
    context: place.cluster.context,
    agentName: found.agentName,
    runtimeName: found.runtimeName,
    tokenSecret: TOKEN_SECRET,
    parts,
  }
  await addParts(place, { wishes: { ...given, installer }, facts })
}
