/** The commands `gitops install` and `gitops upgrade`. Both can be repeated. */
import { readFileSync } from 'node:fs'
import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import type { Finding } from '@windlass/kube'
import type { Invocation } from '../../command.ts'
import { argoServerIn, checkArgoCd, throughCluster } from '../../gitops/argo-cd.ts'
import { checkAddress, checkCluster, checkKey, checkRegisterUrl, printFindings, requirePassed } from '../../gitops/checks.ts'
import { checkHosted, removeOpenProject } from '../../gitops/hosted.ts'
import { requireRuntimeName } from '../../gitops/names.ts'
import { ensureRuntimeToken } from '../../gitops/runtime-token.ts'
import { ensureRestrictedNamespace, openGitopsTarget, type GitopsTarget, type TargetFlags } from '../../gitops/target.ts'
import { openTokenStore } from '../../gitops/token-secret.ts'
import { lastLines, requireOnline } from '../../gitops/tunnel-state.ts'
import {
  accessOf,
  factValues,
  isHostedIn,
  nameIn,
  operatesWorkflows,
  reportsImages,
  readRuntimeValues,
  registerUrlIn,
  type ValueFlags,
} from '../../gitops/values.ts'
import type { Printer } from '../../printer.ts'
import { withClusterUrl } from '../../runner/cluster-url.ts'
import { INSTALL_MS } from '../../runner/helm/helm.ts'
import { showStarting } from '../../runner/install/starting-pods.ts'
import { mergeTrees, type Tree } from '../../runner/values/read-values.ts'
import { openSession } from '../../session/session.ts'

interface InstallOptions extends TargetFlags, ValueFlags {
  readonly recover: boolean
}

/** Checks server, cluster and values, registers the runtime, and installs the chart. Throws `config-invalid`, `conflict`, `install-failed`. */
export async function installRuntime({ args, options, out, settings }: Invocation<InstallOptions>): Promise<void> {
  const name = requireRuntimeName(args[0])
  const given = readRuntimeValues(options)
  const session = await withClusterUrl(openSession(settings), out)
  await using target = await openGitopsTarget(options, settings)
  const { cluster, namespace } = target
  const before = await target.helm.values(target.release)
  requireSameName(name, { before, given, namespace })
  const wanted = mergeTrees(before ?? {}, given)
  const access = accessOf(wanted)
  const isHosted = isHostedIn(wanted)
  const installed = {
    kind: access.kind,
    isHosted,
    operatesWorkflows: operatesWorkflows(wanted),
    reportsImages: reportsImages(wanted),
  }
  const key = await checkKey(session.client)
  const findings = [
    key,
    ...(await checkCluster(cluster.kube, namespace, installed)),
    ...(await checkArgoIn(target, wanted)),
    ...(isHosted ? await checkHosted(cluster.kube, namespace) : []),
    ...(await checkAddress(access, settings)),
  ]
  requirePassed(findings, out)
  await ensureRestrictedNamespace(cluster.kube, namespace)
  const serverUrl = session.clusterUrl ?? session.url
  const { accountId, url, isNew, replaced } = await ensureRuntimeToken({
    client: session.client,
    store: openTokenStore(cluster.kube, namespace),
    runtime: name,
    server: serverUrl,
    needsTunnel: access.kind === 'tunnel',
    recover: options.recover,
    place: { namespace, url: access.url, isHosted },
  })
  const copy = replaced === undefined ? '' : `; the Secret ${replaced} has the one of the other installation`
  const token: Finding = { check: 'token', status: 'pass', message: isNew ? `created${copy}` : 'kept' }
  const ca = session.caFile === undefined ? undefined : readFileSync(session.caFile, 'utf8')
  const facts = factValues({ name, serverUrl, accountId, url, ca })
  const values = mergeTrees(mergeTrees(before ?? {}, facts), given)
  const isTunnel = access.kind === 'tunnel'
  printFindings([token, ...(isTunnel ? await checkRegisterUrl(registerUrlIn(values), settings) : [])], out)
  if (isHosted) await removeOpenProject(cluster.kube, namespace)
  await installChart(target, values, out)
  if (isTunnel) await requireOnline(session.client, name)
  out.line(`gitops-runtime/${name} installed`)
  out.note(`Callers reach it at ${access.url ?? url ?? 'the URL of its ingress'}.`)
}

function checkArgoIn({ cluster: { kube }, namespace }: GitopsTarget, values: Tree): Promise<Finding[]> {
  return checkArgoCd(kube, { namespace, server: argoServerIn(values), ask: throughCluster(kube) })
}

/** Installs or upgrades the release. After a failure it prints what the tunnel client wrote last. */
async function installChart({ cluster, helm, release }: GitopsTarget, values: Tree, out: Printer): Promise<void> {
  const { kube } = cluster
  out.note(`Installing the release ${release.name} in ${release.namespace} (up to ${INSTALL_MS / 60_000} min)`)
  try {
    await showStarting({ kube, release, out, clock: systemClock }, helm.install(release, values))
  } catch (error) {
    // The failure of the installation is the one to report.
    for (const line of await lastLines(kube, release.namespace).catch(() => []))
      out.note(out.stderr.style.dim(`  tunnel-client: ${line}`))
    throw error
  }
}

/** Upgrades the chart to the version of this program. Values of the release are kept. Throws `not-found` without a release. */
export async function upgradeRuntime({ args, options, out, settings }: Invocation<TargetFlags & ValueFlags>): Promise<void> {
  const name = requireRuntimeName(args[0])
  const given = readRuntimeValues(options)
  await using target = await openGitopsTarget(options, settings)
  const { namespace, release, helm } = target
  const before = await helm.values(release)
  if (before === undefined)
    throw fault('not-found', {
      message: `The namespace ${namespace} has no release ${release.name}.`,
      hint: `Install the runtime with \`windlass gitops install ${name}\`, or name its namespace with --kube-namespace.`,
    })
  requireSameName(name, { before, given, namespace })
  const values = mergeTrees(before, given)
  const isHosted = isHostedIn(values)
  const { kube } = target.cluster
  requirePassed([...(await checkArgoIn(target, values)), ...(isHosted ? await checkHosted(kube, namespace) : [])], out)
  if (isHosted) await removeOpenProject(kube, namespace)
  await installChart(target, values, out)
  out.line(`gitops-runtime/${name} upgraded`)
}

/** Throws `conflict` if the release or the values are of another runtime. */
function requireSameName(
  name: string,
  { before, given, namespace }: { readonly before: Tree | undefined; readonly given: Tree; readonly namespace: string },
): void {
  const installed = nameIn(before)
  if (installed !== undefined && installed !== name)
    throw fault('conflict', {
      message: `The namespace ${namespace} has the GitOps runtime "${installed}".`,
      hint: 'Name another namespace with --kube-namespace: a namespace has one runtime.',
    })
  const wanted = nameIn(given)
  if (wanted !== undefined && wanted !== name)
    throw fault('usage', {
      message: `The values name the GitOps runtime "${wanted}", and the command "${name}".`,
      hint: 'Remove global.runtime.name from the values.',
    })
}
