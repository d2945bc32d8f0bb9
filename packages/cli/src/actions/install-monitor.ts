/** `install monitor` and `uninstall monitor`. */
import { readFileSync } from 'node:fs'
import { fault } from '@windlass/kit/faults'
import type { Invocation } from '../command.ts'
import { ensureNamespace, readSecret, setSecretKeys, TOKEN_SECRET } from '../runner/cluster/secrets.ts'
import { printManifests } from '../runner/init/render.ts'
import { openInstallPlace, type HelmFlags } from '../runner/install/place.ts'
import { addParts, removeParts } from '../runner/install/release.ts'
import { toChartValues } from '../runner/values/chart-values.ts'
import { readWishes, type ValueFlags } from '../runner/values/wishes.ts'
import { openSession } from '../session.ts'

interface MonitorOptions extends ValueFlags, HelmFlags {
  readonly token?: string | undefined
  readonly dryRun: boolean
}

/** Installs the monitor into the release of the namespace; it reports with the token of the agent there. Throws `usage` without one. */
export async function installMonitor({ options, out, settings }: Invocation<MonitorOptions>): Promise<void> {
  const session = openSession(settings)
  const wishes = readWishes(options)
  await using place = await openInstallPlace(options, options, settings)
  const { kube } = place.cluster
  const facts = {
    url: options.url ?? session.url,
    context: options.clusterId ?? place.cluster.context,
    agentName: undefined,
    runtimeName: undefined,
    tokenSecret: TOKEN_SECRET,
    ca: session.caFile === undefined ? undefined : readFileSync(session.caFile, 'utf8'),
    parts: { agent: false, runtime: false, monitor: true },
  }
  if (options.dryRun)
    return printManifests(
      out,
      await place.helm().render(place.release, toChartValues(wishes, { ...facts, namespace: place.namespace })),
    )
  await ensureNamespace(kube, place.namespace)
  const secret = { namespace: place.namespace, name: TOKEN_SECRET.name }
  if (options.token !== undefined) await setSecretKeys(kube, secret, { [TOKEN_SECRET.key]: options.token })
  else if ((await readSecret(kube, place.namespace, TOKEN_SECRET.name))?.[TOKEN_SECRET.key] === undefined)
    throw fault('usage', {
      message: `There is no agent in the namespace ${place.namespace} whose token the monitor could use.`,
      hint: 'Install one there, or give the token of an agent with --token.',
    })
  await addParts(place, { wishes, facts })
  out.line(`The monitor runs in ${place.namespace}`)
}

export async function uninstallMonitor({ options, out, settings }: Invocation<ValueFlags & HelmFlags>): Promise<void> {
  await using place = await openInstallPlace(options, options, settings)
  const removed = await removeParts(place, ['monitor'])
  out.line(removed ? 'The monitor was removed' : 'There is no monitor')
}
