/** The command `runner to-helm`, which moves an installation of the Codefresh CLI to the chart and keeps the agent. */
import { writeFileSync } from 'node:fs'
import type { ApiClient } from '@windlass/client'
import type { Invocation } from '../../command.ts'
import { openInstallTarget, RELEASE_NAME, type InstallTarget } from '../../runner/install/target.ts'
import { OLD_KINDS, OLD_SELECTOR, readOldInstallation, type OldInstallation } from '../../runner/old/to-helm.ts'
import { mergeTrees, type Tree } from '../../runner/values/read-values.ts'
import type { ValueFlags } from '../../runner/values/install-values.ts'
import { orUndefined, openSession } from '../../session/session.ts'

interface MoveOptions extends ValueFlags {
  readonly file: string | undefined
  readonly removeOld: boolean
}

/** Writes the values. With `--remove-old` it also deletes the objects that would conflict with the chart. */
export async function moveToHelm({ options, out, settings }: Invocation<MoveOptions>): Promise<void> {
  const session = openSession(settings)
  await using target = await openInstallTarget(options, {}, settings)
  const old = await readOldInstallation(target.cluster.kube, target.namespace)
  const agent = await session.client.agents.get(old.agentId)
  const global = { agentName: agent.name, codefreshHost: options.url ?? session.url, context: target.cluster.context }
  const values = mergeTrees(mergeTrees(old.values, { global }), await runtimePatchOf(session.client, old))
  const path = options.file ?? 'generated_values.yaml'
  writeFileSync(path, `${JSON.stringify(values, null, 2)}\n`, { mode: 0o600 })
  if (options.removeOld) await removeOld(target)
  out.line(path)
  out.note(`${options.removeOld ? 'The old objects were deleted. ' : ''}Install with Helm:`)
  out.note(`  helm upgrade --install ${RELEASE_NAME} CHART --namespace ${target.namespace} -f ${path}`)
}

/** Returns values that keep the chart from overwriting the specification of an existing runtime. */
async function runtimePatchOf(client: ApiClient, { runtimeNames }: OldInstallation): Promise<Tree> {
  const [name] = runtimeNames
  if (name === undefined) return {}
  const known = await orUndefined(client.runtimes.get(name))
  return known === undefined ? {} : { runtime: { patch: { enabled: false } } }
}

async function removeOld({ cluster, namespace }: InstallTarget): Promise<void> {
  for (const kind of OLD_KINDS)
    for (const { metadata } of await cluster.kube.list({ kind, namespace, labels: OLD_SELECTOR }))
      await cluster.kube.delete({ kind, namespace, name: metadata.name })
}
