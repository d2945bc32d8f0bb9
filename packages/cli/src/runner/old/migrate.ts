/**
 * Migrates a Runner of version 0.x (Deployment `venona`). The settings of its pods are saved in `migration.json` and applied to the new agent.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { isRecord } from '@windlass/kit/json'
import type { Kube, KubeObject } from '@windlass/kube'
import { z } from 'zod'
import type { Invocation } from '../../command.ts'
import type { Session } from '../../session/session.ts'
import { setSecretKeys, TOKEN_SECRET } from '../cluster/secrets.ts'
import { putDemo } from '../demo.ts'
import { defaultPrompter, terminalPrompter } from '../init/prompter.ts'
import { agentNameOf } from '../init/names.ts'
import type { InstallTarget } from '../install/target.ts'
import { addParts } from '../install/release.ts'
import type { Tree } from '../values/read-values.ts'
import { readInstallValues } from '../values/install-values.ts'
import type { UpgradeOptions } from '../upgrade-options.ts'

/** Name of the Deployment and Secret of version 0.x. */
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

/** Settings that are migrated. */
export const Migration = z.object({
  tolerations: z.array(z.record(z.string(), z.unknown())),
  nodeSelector: z.record(z.string(), z.string()),
  env: z.record(z.string(), z.string()),
})
export type Migration = z.infer<typeof Migration>

/** Returns the Deployment of the old agent, if any. */
export async function findOldRunner(kube: Kube, namespace: string): Promise<KubeObject | undefined> {
  return kube.find({ kind: 'Deployment', namespace, name: OLD_NAME })
}

/** Internal variables of the old agent, which are not migrated. */
const OWN_VARIABLES =
  /^(SELF_DEPLOYMENT_INFO|CODEFRESH_TOKEN|CODEFRESH_HOST|AGENT_MODE|AGENT_NAME|AGENT_ID|DOCKER_REGISTRY|LOGGER_LEVEL|VENONA_CONFIG_DIR)$/

/** Reads the settings of the old pods, without the tolerations that Kubernetes adds to every pod. Pure. */
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

/** Replaces the storage class of the old provisioner with that of the new one: `…-venona-…` becomes `…-runner-…`. Pure. */
export function renameStorageClass(spec: Tree): Tree {
  const rename = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replace(/^dind-local-volumes-venona-/, 'dind-local-volumes-runner-')
    if (Array.isArray(value)) return value.map(rename)
    if (!isRecord(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, key === 'annotations' ? inner : rename(inner)]))
  }
  const dind = spec['dockerDaemonScheduler']
  if (!isRecord(dind)) return spec
  return { ...spec, dockerDaemonScheduler: { ...dind, pvcs: rename(dind['pvcs']) } }
}

interface Move {
  readonly old: KubeObject
  readonly target: InstallTarget
  readonly session: Session
  readonly invocation: Invocation<UpgradeOptions>
}

/** Replaces the old agent, and keeps the runtime, its name and its pipelines. Throws `usage` without the runtime's name. */
export async function migrateOldRunner({ old, target, session, invocation }: Move): Promise<void> {
  const { options, out } = invocation
  if (options.runtimeName === undefined)
    throw fault('usage', {
      message: 'The runtime environment of the old agent was not given.',
      hint: 'Add --runtime-name; list them with `windlass get re`.',
    })
  const runtime = await session.client.runtimes.get(options.runtimeName)
  const settings = readOldSettings(old)
  await confirmMove({ target, runtime: runtime.name, invocation })
  const path = join(process.cwd(), MIGRATION_FILE)
  writeFileSync(path, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 })
  out.note(`Saved the settings of the old agent in ${path}.`)
  await removeOld(target)
  const name = options.agentName ?? agentNameOf(target.cluster.context, target.namespace, [])
  const { type, isDefault, spec } = runtime
  const agent = await session.client.agents.create({ name, runtimes: [runtime.name] }).catch(async (error: unknown) => {
    // An interrupted migration already created it.
    if (!isFault(error, 'conflict')) throw error
    return session.client.agents.renewToken(name)
  })
  await session.client.agents.patch(agent.name, { addRuntimes: [runtime.name] })
  const body = { name: runtime.name, type, isDefault, agent: agent.name, spec: renameStorageClass(spec) }
  await session.client.runtimes.put(body.name, body, { query: { description: 'migration from 0.x' } })
  await setSecretKeys(
    target.cluster.kube,
    { namespace: target.namespace, name: TOKEN_SECRET.name },
    { [TOKEN_SECRET.key]: agent.token },
  )
  await installNew({ target, session, invocation }, { settings, agentName: agent.name, runtimeName: runtime.name })
  await putDemo(session.client, { runtime: runtime.name, registry: undefined, image: undefined })
  out.line(`The Runner in ${target.namespace} was migrated; its agent is ${agent.name}`)
}

async function confirmMove({
  target,
  runtime,
  invocation,
}: {
  target: InstallTarget
  runtime: string
  invocation: Move['invocation']
}): Promise<void> {
  const { options, out } = invocation
  out.note(`The agent ${OLD_NAME} in ${target.namespace} has version 0.x. It is replaced with a new agent for ${runtime}.`)
  out.note('Make sure that no builds run on it during the migration.')
  const asks = !options.yes && process.stdin.isTTY === true
  if (!options.yes && !asks)
    throw fault('usage', { message: 'Cannot ask for confirmation without a terminal.', hint: 'Add --yes.' })
  const prompter = asks ? terminalPrompter() : defaultPrompter
  if (!(await prompter.confirm('Migrate it?', !asks)))
    throw fault('usage', { message: 'Canceled: nothing was changed.', hint: 'Answer yes to migrate.' })
}

async function removeOld({ cluster, namespace }: InstallTarget): Promise<void> {
  const { kube } = cluster
  await kube.delete({ kind: 'Deployment', namespace, name: OLD_NAME })
  await kube.delete({ kind: 'Secret', namespace, name: OLD_NAME })
  const end = systemClock.now() + GONE_WAIT_MS
  while ((await kube.list({ kind: 'Pod', namespace, labels: `app=${OLD_NAME}` })).length > 0) {
    if (systemClock.now() > end)
      throw fault('install-failed', {
        message: `The pods of the old agent still exist after ${GONE_WAIT_MS / 1000} s.`,
        hint: 'Run the command again.',
      })
    await systemClock.sleep(500)
  }
}

async function installNew(
  { target, session, invocation }: Omit<Move, 'old'>,
  found: { settings: Migration; agentName: string; runtimeName: string },
): Promise<void> {
  const given = readInstallValues(invocation.options)
  const { tolerations, nodeSelector, env } = found.settings
  const installer = { ...given.installer, Tolerations: tolerations, NodeSelector: nodeSelector, EnvVars: env }
  const parts = { agent: true, runtime: true, monitor: invocation.options.installMonitor ?? false }
  const facts = {
    url: session.url,
    context: target.cluster.context,
    agentName: found.agentName,
    runtimeName: found.runtimeName,
    tokenSecret: TOKEN_SECRET,
    parts,
  }
  await addParts(target, { installValues: { ...given, installer }, facts })
}
