/** `--dry-run`: writes the manifests to files without changing the cluster or the server. Does not need a server. */
import { join } from 'node:path'
import { openHelm, type HelmObject } from '../helm/helm.ts'
import type { Printer } from '../../printer.ts'
import type { Settings } from '../../config.ts'
import { currentContext, readConfigFile } from '../../session/config-file.ts'
import { APP_PROXY_SECRET } from '../app-proxy/address.ts'
import { ACCOUNT_KEY } from '../app-proxy/register.ts'
import { TOKEN_SECRET } from '../cluster/secrets.ts'
import { toChartValues } from '../values/chart-values.ts'
import type { InstallValues } from '../values/install-values.ts'
import { RELEASE_NAME } from '../install/target.ts'
import type { Prompter } from './prompter.ts'
import { planInstallation } from './plan.ts'
import { prepare } from './prepare.ts'
import { writeManifests } from './render.ts'
import { markLines } from './state.ts'
import type { InitOptions } from './options.ts'

/** Folder of the manifests, in the current directory. */
export const MANIFEST_FOLDER = 'codefresh_manifests'
const PLACEHOLDER = {
  agent: 'dry-run-agent',
  runtime: 'dry-run-runtime-name',
  token: 'dry-run-token',
  iv: 'dry-run-encryption-iv',
  account: 'dry-run-account-id',
  url: 'https://windlass.example.com',
}

export async function writeDryRun(input: {
  installValues: InstallValues
  options: InitOptions
  prompter: Prompter
  out: Printer
  settings: Settings
}): Promise<number> {
  const { installValues, options, out, settings } = input
  const { installer } = installValues
  const flags = { ...options, name: options.name ?? PLACEHOLDER.agent }
  const prepared = await prepare({ ...input, flags, session: undefined, before: undefined })
  await using _cluster = prepared.cluster
  const { names, choices } = prepared
  const runtimeName = installer.RuntimeEnvironmentName ?? PLACEHOLDER.runtime
  const values = toChartValues(installValues, {
    ...names,
    runtimeName,
    url: options.url ?? installer.CodefreshHost ?? settings.url ?? urlOfContext(settings) ?? PLACEHOLDER.url,
    tokenSecret: TOKEN_SECRET,
    parts: { agent: true, runtime: true, monitor: choices.monitor },
    appProxy: choices.appProxy ? { cors: undefined } : undefined,
  })
  const helm = openHelm({ helm: options.helm, chart: options.chart, settings })
  const objects = await helm.render({ name: RELEASE_NAME, namespace: names.namespace }, values)
  const folder = join(process.cwd(), MANIFEST_FOLDER)
  for (const line of markLines(planInstallation(choices), {})) out.note(`  ${line}`)
  const paths = writeManifests(folder, [...ownObjects(names.namespace, choices.appProxy), ...objects])
  for (const path of paths) out.line(path)
  out.note(`Wrote ${paths.length} manifests to ${folder}. Nothing was changed in the cluster.`)
  return 0
}

function urlOfContext({ configFile }: Settings): string | undefined {
  return currentContext(readConfigFile(configFile))?.url
}

/** Returns the objects that the installer itself creates before Helm. */
function ownObjects(namespace: string, hasProxy: boolean): HelmObject[] {
  const labels = { 'pod-security.kubernetes.io/enforce': 'privileged' }
  const secret = secretOf(namespace, TOKEN_SECRET.name, { [TOKEN_SECRET.key]: PLACEHOLDER.token })
  const ofProxy = { token: PLACEHOLDER.token, encryptionIV: PLACEHOLDER.iv, [ACCOUNT_KEY]: PLACEHOLDER.account }
  return [
    {
      kind: 'Namespace',
      name: namespace,
      namespace: undefined,
      document: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } },
    },
    secret,
    ...(hasProxy ? [secretOf(namespace, APP_PROXY_SECRET, ofProxy)] : []),
  ]
}

function secretOf(namespace: string, name: string, stringData: Readonly<Record<string, string>>): HelmObject {
  const document = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData }
  return { kind: 'Secret', name, namespace, document }
}
