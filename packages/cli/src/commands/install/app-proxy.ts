/** The commands `install app-proxy` and `upgrade app-proxy` for the app-proxy of a Runner. */
import { readFileSync } from 'node:fs'
import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import type { Invocation } from '../../command.ts'
import { appProxyNameOf, APP_PROXY_SECRET, appProxyUrlOf, withCheckedHost } from '../../runner/app-proxy/address.ts'
import { appProxyFacts } from '../../runner/app-proxy/facts.ts'
import { registerAppProxy } from '../../runner/app-proxy/register.ts'
import { findRuntimeName, setProxyAddress } from '../../runner/app-proxy/runtime-address.ts'
import { reportReach } from '../../runner/app-proxy/reach.ts'
import { ensureNamespace } from '../../runner/cluster/secrets.ts'
import { withClusterUrl } from '../../runner/cluster-url.ts'
import { INSTALL_MS } from '../../runner/helm/helm.ts'
import { printManifests } from '../../runner/init/render.ts'
import { addParts } from '../../runner/install/release.ts'
import { showStarting } from '../../runner/install/starting-pods.ts'
import { openInstallTarget, partsOf, targetOf, type HelmFlags } from '../../runner/install/target.ts'
import { requireScopes } from '../../runner/log-in.ts'
import { toChartValues, type InstallFacts } from '../../runner/values/chart-values.ts'
import { readInstallValues, type ValueFlags } from '../../runner/values/install-values.ts'
import { openSession } from '../../session/session.ts'
import { APP_PROXY_SCOPES } from '@windlass/protocol'

export interface AppProxyOptions extends ValueFlags, HelmFlags {
  readonly host?: string | undefined
  readonly ingressClass?: string | undefined
  readonly runtimeEnvironment?: string | undefined
  readonly tokenOnly?: boolean
  readonly dryRun?: boolean
}

/** Installs the app-proxy into the release of the namespace, and writes its address into the runtime environment. Running it again changes its values. */
export async function installAppProxy(invocation: Invocation<AppProxyOptions>): Promise<void> {
  return putAppProxy(invocation, false)
}

/** Upgrades the release to the chart and images of this program, with the values that it has and those of the options. Throws `not-found` without an app-proxy. */
export async function upgradeAppProxy(invocation: Invocation<AppProxyOptions>): Promise<void> {
  return putAppProxy(invocation, true)
}

async function putAppProxy({ options, out, settings }: Invocation<AppProxyOptions>, isUpgrade: boolean): Promise<void> {
  const flags = { ...options, appProxyHost: options.host, appProxyIngressClass: options.ingressClass }
  const given = readInstallValues(flags)
  const { installer } = given
  const current = openSession(settings)
  const session = options.dryRun === true || options.url !== undefined ? current : await withClusterUrl(current, out)
  const server = options.url ?? session.clusterUrl ?? session.url
  await using target = await openInstallTarget(targetOf(installer), options, settings)
  const { cluster, namespace, release } = target
  const before = await target.helm().values(release)
  if (isUpgrade && !partsOf(before).appProxy)
    throw fault('not-found', {
      message: `The namespace ${namespace} of ${cluster.context} has no app-proxy of a Runner.`,
      hint: 'Install one with `windlass install app-proxy --host HOST`, or name its namespace with --kube-namespace.',
    })
  if (options.dryRun !== true) await requireScopes(session, ['runtime:write', ...APP_PROXY_SCOPES])
  const runtimeName = await findRuntimeName(
    session.client,
    options.runtimeEnvironment ?? installer.RuntimeEnvironmentName,
    before,
  )
  const facts: Omit<InstallFacts, 'namespace'> = {
    url: server,
    context: cluster.context,
    agentName: undefined,
    runtimeName,
    tokenSecret: undefined,
    ca: session.caFile === undefined ? undefined : readFileSync(session.caFile, 'utf8'),
    parts: { agent: false, runtime: false, monitor: false },
    appProxy: appProxyFacts({ url: session.url, clusterUrl: server }),
  }
  const register = async (): Promise<void> => {
    await ensureNamespace(cluster.kube, namespace)
    const name = appProxyNameOf(runtimeName)
    const secret = APP_PROXY_SECRET
    await registerAppProxy({ client: session.client, kube: cluster.kube, namespace, secret, name, server })
  }
  if (options.tokenOnly === true) {
    await register()
    return out.line(`The token of the app-proxy is in the Secret ${APP_PROXY_SECRET} of ${namespace}`)
  }
  const installValues = withCheckedHost(given, before)
  if (options.dryRun === true)
    return printManifests(out, await target.helm().render(release, toChartValues(installValues, { ...facts, namespace })))
  await register()
  out.note(`Installing with Helm (up to ${INSTALL_MS / 60_000} min)`)
  const adding = addParts(target, { installValues, facts })
  await showStarting({ kube: cluster.kube, release, out, clock: systemClock }, adding)
  const url = appProxyUrlOf(await adding)
  await setProxyAddress(session.client, runtimeName, url)
  if (url !== undefined) await reportReach(url, settings, out)
  out.line(`The app-proxy was ${isUpgrade ? 'upgraded' : 'installed'} in ${namespace}${url === undefined ? '' : ` at ${url}`}`)
}
