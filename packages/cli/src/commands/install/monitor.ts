/** The commands `install monitor` and `uninstall monitor`. */
import { readFileSync } from 'node:fs'
import { fault } from '@windlass/kit/faults'
import type { Invocation } from '../../command.ts'
import { ensureNamespace, readSecret, setSecretKeys, TOKEN_SECRET } from '../../runner/cluster/secrets.ts'
import { printManifests } from '../../runner/init/render.ts'
import { openInstallTarget, type HelmFlags } from '../../runner/install/target.ts'
import { INSTALL_MS } from '../../runner/helm/helm.ts'
import { addParts, removeParts } from '../../runner/install/release.ts'
import { toChartValues } from '../../runner/values/chart-values.ts'
import { readInstallValues, type ValueFlags } from '../../runner/values/install-values.ts'
import { withClusterUrl } from '../../runner/cluster-url.ts'
import { openSession } from '../../session/session.ts'

interface MonitorOptions extends ValueFlags, HelmFlags {
  readonly token?: string | undefined
  readonly dryRun: boolean
}

/** Installs the monitor into the release of the namespace, with the agent's token by default. Throws `usage` without a token. */
export async function installMonitor({ options, out, settings }: Invocation<MonitorOptions>): Promise<void> {
  const current = openSession(settings)
  const session = options.dryRun || options.url !== undefined ? current : await withClusterUrl(current, out)
  const installValues = readInstallValues(options)
  await using target = await openInstallTarget(options, options, settings)
  const { kube } = target.cluster
  const facts = {
    url: options.url ?? session.clusterUrl ?? session.url,
    context: options.clusterId ?? target.cluster.context,
    agentName: undefined,
    runtimeName: undefined,
    tokenSecret: TOKEN_SECRET,
    ca: session.caFile === undefined ? undefined : readFileSync(session.caFile, 'utf8'),
    parts: { agent: false, runtime: false, monitor: true },
  }
  if (options.dryRun)
    return printManifests(
      out,
      await target.helm().render(target.release, toChartValues(installValues, { ...facts, namespace: target.namespace })),
    )
  await ensureNamespace(kube, target.namespace)
  const secret = { namespace: target.namespace, name: TOKEN_SECRET.name }
  if (options.token !== undefined) await setSecretKeys(kube, secret, { [TOKEN_SECRET.key]: options.token })
  else if ((await readSecret(kube, target.namespace, TOKEN_SECRET.name))?.[TOKEN_SECRET.key] === undefined)
    throw fault('usage', {
      message: `The namespace ${target.namespace} has no agent whose token the monitor could use.`,
      hint: 'Install an agent there, or pass the token of an agent with --token.',
    })
  out.note(`Installing with Helm (up to ${INSTALL_MS / 60_000} min)`)
  await addParts(target, { installValues, facts })
  out.line(`The monitor was installed in ${target.namespace}`)
}

export async function uninstallMonitor({ options, out, settings }: Invocation<ValueFlags & HelmFlags>): Promise<void> {
  await using target = await openInstallTarget(options, options, settings)
  const removed = await removeParts(target, ['monitor'])
  out.line(removed ? 'The monitor was removed' : 'No monitor is installed')
}
