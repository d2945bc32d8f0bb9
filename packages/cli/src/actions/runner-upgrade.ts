/** `runner upgrade`: the release of a namespace with the chart and images of this program. */
import { fault } from '@windlass/kit/faults'
import { getRuntime, putRuntime } from '../api-runner.ts'
import type { Invocation } from '../command.ts'
import { renderRuntime } from '../runner/init/render.ts'
import { openInstallPlace, partsOf, type HelmFlags } from '../runner/install/place.ts'
import { findOldRunner, migrateOldRunner } from '../runner/old/migrate.ts'
import { isTree, mergeTrees, type Tree } from '../runner/values/read-values.ts'
import type { ValueFlags } from '../runner/values/wishes.ts'
import { openSession, type Session } from '../session.ts'

export interface UpgradeOptions extends ValueFlags, HelmFlags {
  readonly agentName?: string | undefined
  readonly yes: boolean
}

/** Keeps the token and every value; builds that run go on. Throws `not-found` without a Runner. */
export async function upgradeRunner(invocation: Invocation<UpgradeOptions>): Promise<void> {
  const { options, out, settings } = invocation
  await using place = await openInstallPlace(options, options, settings)
  const session = openSession(settings)
  const helm = place.helm()
  const before = await helm.values(place.release)
  if (before === undefined) {
    const old = await findOldRunner(place.cluster.kube, place.namespace)
    if (old !== undefined) return migrateOldRunner({ old, place, session, invocation })
    throw fault('not-found', {
      message: `There is no Runner in the namespace ${place.namespace} of ${place.cluster.context}.`,
      hint: 'Name its namespace with --kube-namespace, or install one with `windlass runner init`.',
    })
  }
  const changes = {
    ...(options.url !== undefined && { global: { codefreshHost: options.url } }),
    ...(options.installMonitor !== undefined && { monitor: { enabled: options.installMonitor } }),
  }
  const values = mergeTrees(before, changes)
  await helm.install(place.release, values)
  if (partsOf(values).runtime) {
    const rendered = await renderRuntime(helm, place.release, values)
    if (await updateImages(session, options.runtimeName ?? rendered.name, rendered))
      out.note(`The images of ${rendered.name} are those of this version.`)
  }
  out.line(`The Runner in ${place.namespace} of ${place.cluster.context} was upgraded`)
}

/** Only the images change: what people wrote into the runtime's specification stays. False when they are the same. */
async function updateImages({ client }: Session, name: string, rendered: Tree): Promise<boolean> {
  const runtime = await getRuntime(client, name)
  const spec = rendered['spec']
  const imageOf = (part: string, key: string): unknown => {
    const inner = isTree(spec) ? spec[part] : undefined
    return isTree(inner) ? inner[key] : undefined
  }
  const images = {
    runtimeScheduler: { image: imageOf('runtimeScheduler', 'image') },
    dockerDaemonScheduler: { dindImage: imageOf('dockerDaemonScheduler', 'dindImage') },
  }
  const wanted = mergeTrees(runtime.spec, images)
  if (JSON.stringify(wanted) === JSON.stringify(runtime.spec)) return false
  const { type, agent, isDefault } = runtime
  const body = { name, type, isDefault, spec: wanted, ...(agent !== undefined && { agent }) }
  await putRuntime(client, body, 'runner upgrade')
  return true
}
