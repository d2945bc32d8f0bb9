/** `runner to-helm`: from the vendor's command to the chart, with the same agent. */
import { writeFileSync } from 'node:fs'
import { isFault } from '@windlass/kit/faults'
import { getAgent, getRuntime } from '../api-runner.ts'
import type { Invocation } from '../command.ts'
import { openInstallPlace, RELEASE_NAME, type InstallPlace } from '../runner/install/place.ts'
import { OLD_KINDS, OLD_SELECTOR, readOldInstallation, type OldInstallation } from '../runner/old/to-helm.ts'
import { mergeTrees, type Tree } from '../runner/values/read-values.ts'
import type { ValueFlags } from '../runner/values/wishes.ts'
import { openSession } from '../session.ts'

interface MoveOptions extends ValueFlags {
  readonly file: string | undefined
  readonly removeOld: boolean
}

/** Writes the values, and with `--remove-old` makes room for the chart. */
export async function moveToHelm({ options, out, settings }: Invocation<MoveOptions>): Promise<void> {
  const session = openSession(settings)
  await using place = await openInstallPlace(options, {}, settings)
  const old = await readOldInstallation(place.cluster.kube, place.namespace)
  const agent = await getAgent(session.client, old.agentId)
  const global = { agentName: agent.name, codefreshHost: options.url ?? session.url, context: place.cluster.context }
  const values = mergeTrees(mergeTrees(old.values, { global }), await customsOf(session.client, old))
  const path = options.file ?? 'generated_values.yaml'
  writeFileSync(path, `${JSON.stringify(values, null, 2)}\n`, { mode: 0o600 })
  if (options.removeOld) await removeOld(place)
  out.line(path)
  out.note(`${options.removeOld ? 'The old objects are gone. ' : ''}Install with Helm:`)
  out.note(`  helm upgrade --install ${RELEASE_NAME} CHART --namespace ${place.namespace} -f ${path}`)
}

/** The runtime's own specification goes on: the chart does not write over it. */
async function customsOf(client: Parameters<typeof getRuntime>[0], { runtimeNames }: OldInstallation): Promise<Tree> {
  const [name] = runtimeNames
  if (name === undefined) return {}
  const known = await getRuntime(client, name).catch((error: unknown) => {
    if (isFault(error, 'not-found')) return undefined
    throw error
  })
  return known === undefined ? {} : { runtime: { patch: { enabled: false } } }
}

async function removeOld({ cluster, namespace }: InstallPlace): Promise<void> {
  for (const kind of OLD_KINDS)
    for (const { metadata } of await cluster.kube.list({ kind, namespace, labels: OLD_SELECTOR }))
      await cluster.kube.delete({ kind, namespace, name: metadata.name })
}
