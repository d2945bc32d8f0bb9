/** The command `runner upgrade`, which upgrades the release of a namespace to the chart and images of this program. */
import { systemClock } from '@windlass/kit'
import { defined } from '@windlass/kit/defined'
import { fault } from '@windlass/kit/faults'
import { isRecord } from '@windlass/kit/json'
import type { Invocation } from '../../command.ts'
import { INSTALL_MS } from '../../runner/helm/helm.ts'
import { renderRuntime } from '../../runner/init/render.ts'
import { openInstallTarget, partsOf } from '../../runner/install/target.ts'
import { showStarting } from '../../runner/install/starting-pods.ts'
import { findOldRunner, migrateOldRunner } from '../../runner/old/migrate.ts'
import { mergeTrees, type Tree } from '../../runner/values/read-values.ts'
import { openSession, type Session } from '../../session/session.ts'
import type { UpgradeOptions } from '../../runner/upgrade-options.ts'

/** Upgrades and keeps the token and all values; running builds continue. Throws `not-found` without a Runner. */
export async function upgradeRunner(invocation: Invocation<UpgradeOptions>): Promise<void> {
  const { options, out, settings } = invocation
  await using target = await openInstallTarget(options, options, settings)
  const session = openSession(settings)
  const helm = target.helm()
  const before = await helm.values(target.release)
  if (before === undefined) {
    const old = await findOldRunner(target.cluster.kube, target.namespace)
    if (old !== undefined) return migrateOldRunner({ old, target, session, invocation })
    throw fault('not-found', {
      message: `No Runner is installed in the namespace ${target.namespace} of ${target.cluster.context}.`,
      hint: 'Set its namespace with --kube-namespace, or install one with `windlass runner init`.',
    })
  }
  const changes = {
    ...(options.url !== undefined && { global: { codefreshHost: options.url } }),
    ...(options.installMonitor !== undefined && { monitor: { enabled: options.installMonitor } }),
  }
  const values = mergeTrees(before, changes)
  out.note(`Upgrading the release ${target.release.name} in ${target.namespace} (up to ${INSTALL_MS / 60_000} min)`)
  await showStarting(
    { kube: target.cluster.kube, release: target.release, out, clock: systemClock },
    helm.install(target.release, values),
  )
  if (partsOf(values).runtime) {
    const rendered = await renderRuntime(helm, target.release, values)
    if (await updateImages(session, options.runtimeName ?? rendered.name, rendered))
      out.note(`Updated the images of ${rendered.name} to this version.`)
  }
  out.line(`The Runner in ${target.namespace} of ${target.cluster.context} was upgraded`)
}

/** Updates only the images, and keeps user changes of the runtime's specification. Returns false if the images are the same. */
async function updateImages({ client }: Session, name: string, rendered: Tree): Promise<boolean> {
  const runtime = await client.runtimes.get(name)
  const spec = rendered['spec']
  const imageOf = (part: string, key: string): unknown => {
    const inner = isRecord(spec) ? spec[part] : undefined
    return isRecord(inner) ? inner[key] : undefined
  }
  const images = {
    runtimeScheduler: { image: imageOf('runtimeScheduler', 'image') },
    dockerDaemonScheduler: { dindImage: imageOf('dockerDaemonScheduler', 'dindImage') },
  }
  const wanted = mergeTrees(runtime.spec, images)
  if (JSON.stringify(wanted) === JSON.stringify(runtime.spec)) return false
  const { type, agent, isDefault } = runtime
  const body = { name, type, isDefault, spec: wanted, ...defined({ agent }) }
  await client.runtimes.put(name, body, { query: { description: 'runner upgrade' } })
  return true
}
