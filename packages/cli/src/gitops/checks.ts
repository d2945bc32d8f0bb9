/** What is checked before a GitOps runtime is installed. */
import { isTlsCode, nodeTransport, proxyFrom, rootError } from '@windlass/kit'
import { fault, isFault, sentences } from '@windlass/kit/faults'
import { checkRights, type Finding, type Kube, type Right } from '@windlass/kube'
import type { ApiClient } from '@windlass/client'
import { missingScopes } from '@windlass/protocol'
import type { Settings } from '../config.ts'
import type { Printer } from '../printer.ts'
import { evaluateVersion } from '../runner/acceptance/version.ts'
import type { Access } from './values.ts'

const ANSWER_MS = 15_000

/** Checks that the server answers, and that the key may register runtimes. */
export async function checkKey(client: ApiClient): Promise<Finding> {
  const check = 'server'
  try {
    const me = await client.server.whoami({ timeoutMs: ANSWER_MS })
    const missing = missingScopes(me.scopes, ['gitops:read', 'gitops:write'])
    const lacks = missing.length > 0 ? `the scopes ${missing.join(', ')}` : me.role === 'admin' ? undefined : 'the role admin'
    if (lacks === undefined) return { check, status: 'pass', message: `the key "${me.name}" may register GitOps runtimes` }
    const hint = 'Create a key with `windlass create key NAME --role admin`.'
    return { check, status: 'fail', message: `The key "${me.name}" lacks ${lacks}.`, hint }
  } catch (error) {
    if (!isFault(error)) throw error
    return { check, status: 'fail', message: error.message, hint: error.hint }
  }
}

/** Checks that something answers at the URL of an Ingress or an HTTPRoute. DNS and the controller must exist before the runtime. */
export async function checkAddress(
  { kind, url, isChecked }: Access,
  settings: Pick<Settings, 'caFile' | 'environment'>,
): Promise<Finding[]> {
  if ((kind !== 'ingress' && kind !== 'httproute') || !isChecked || url === undefined) return []
  const [check, key] = kind === 'ingress' ? ['ingress', 'ingress'] : ['gateway', 'httpRoute']
  const silence = await silenceOf(url, settings)
  // Any answer is one of the controller: it does not know the host yet.
  if (silence === undefined) return [{ check, status: 'pass', message: `${url} answers` }]
  const { why, isTls } = silence
  if (isTls) {
    const hint =
      'A controller has the certificate of an Ingress once the Ingress exists. For one of a private CA, see global.codefresh.tls.caCerts.'
    return [{ check, status: 'warn', message: `${url} answers with a certificate that is not trusted: ${why}`, hint }]
  }
  const hint = `Create the DNS record of the host first, or set global.runtime.${key}.skipValidation to true.`
  return [{ check, status: 'fail', message: `${url} does not answer: ${why}`, hint }]
}

/** Checks that the server answers at the URL that tunnel clients connect to. Only the cluster has to reach it, so this machine may not. */
export async function checkRegisterUrl(
  url: string | undefined,
  settings: Pick<Settings, 'caFile' | 'environment'>,
): Promise<Finding[]> {
  if (url === undefined) return []
  const check = 'tunnel'
  const silence = await silenceOf(url, settings)
  if (silence === undefined) return [{ check, status: 'pass', message: `${url} answers` }]
  const hint = 'Check DNS, firewalls and the proxy on the way from the cluster to it.'
  return [{ check, status: 'warn', message: `${url} does not answer on this machine: ${silence.why}`, hint }]
}

interface Silence {
  readonly why: string
  /** True if something answered, with a certificate that is not trusted. */
  readonly isTls: boolean
}

/** Returns why a URL gives no answer; undefined if it does. */
async function silenceOf(
  url: string,
  { caFile, environment }: Pick<Settings, 'caFile' | 'environment'>,
): Promise<Silence | undefined> {
  try {
    const transport = nodeTransport({ caFile, proxy: proxyFrom(environment), connectMs: 10_000 })
    const answer = await transport({ method: 'GET', url, headers: {}, timeoutMs: ANSWER_MS })
    await answer.text()
    return undefined
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error), isTls: isTlsCode(rootError(error).code) }
  }
}

const WRITE = ['create', 'patch', 'delete'] as const
const OBJECTS: readonly Pick<Right, 'group' | 'resource'>[] = [
  { group: '', resource: 'configmaps' },
  { group: '', resource: 'secrets' },
  { group: '', resource: 'serviceaccounts' },
  { group: '', resource: 'services' },
  { group: 'apps', resource: 'deployments' },
  { group: 'apps', resource: 'statefulsets' },
  { group: 'networking.k8s.io', resource: 'networkpolicies' },
  { group: 'rbac.authorization.k8s.io', resource: 'roles' },
  { group: 'rbac.authorization.k8s.io', resource: 'rolebindings' },
]

const OBJECTS_OF_HOSTED: typeof OBJECTS = [
  { group: '', resource: 'resourcequotas' },
  { group: '', resource: 'limitranges' },
  { group: 'argoproj.io', resource: 'appprojects' },
]

/** What the reporter reads besides applications. */
const REPORTED: typeof OBJECTS = [
  { group: 'argoproj.io', resource: 'rollouts' },
  { group: 'argoproj.io', resource: 'workflows' },
  { group: 'apps', resource: 'replicasets' },
]

/** Rights on workflows that the chart gives the app-proxy besides those of the reporter, and users can grant only what they have. */
const WORKFLOWS: readonly (Pick<Right, 'group' | 'resource' | 'subresource'> & { readonly verbs: readonly string[] })[] = [
  { group: 'argoproj.io', resource: 'workflows', verbs: ['create', 'patch', 'delete'] },
  { group: 'argoproj.io', resource: 'workflowtemplates', verbs: ['get'] },
  { group: '', resource: 'pods', verbs: ['list', 'delete'] },
  { group: '', resource: 'pods', subresource: 'log', verbs: ['get'] },
]

/** The template of the workflow that reports images, and what its pods may do. */
const IMAGE_REPORTS: typeof WORKFLOWS = [
  { group: 'argoproj.io', resource: 'workflowtemplates', verbs: WRITE },
  { group: 'argoproj.io', resource: 'workflowtaskresults', verbs: ['create', 'patch'] },
]

/** What decides which permissions an installation needs. */
export interface Installed extends Pick<Access, 'kind'> {
  readonly isHosted: boolean
  readonly operatesWorkflows: boolean
  /** Default: false. */
  readonly reportsImages?: boolean
}

/** Returns the permissions that an installation needs in its namespace. Pure. */
export function neededRights(namespace: string, { kind, isHosted, operatesWorkflows, reportsImages }: Installed): Right[] {
  const ways = {
    ingress: [{ group: 'networking.k8s.io', resource: 'ingresses' }],
    httproute: [{ group: 'gateway.networking.k8s.io', resource: 'httproutes' }],
    tunnel: [],
    url: [],
  }
  const rights = [...OBJECTS, ...ways[kind], ...(isHosted ? OBJECTS_OF_HOSTED : [])].flatMap((object) =>
    WRITE.map((verb): Right => ({ verb, ...object, namespace })),
  )
  const applications = { group: 'argoproj.io', resource: 'applications', namespace }
  return [
    ...rights,
    // Helm and the app-proxy read Secrets, and users can grant only what they have.
    ...['get', 'list'].flatMap((verb) => OBJECTS.slice(0, 2).map((object) => ({ verb, ...object, namespace }))),
    ...['get', 'list', 'watch', 'patch', 'delete'].map((verb) => ({ verb, ...applications })),
    ...['get', 'list', 'watch'].flatMap((verb) => REPORTED.map((object) => ({ verb, ...object, namespace }))),
    ...[...(operatesWorkflows ? WORKFLOWS : []), ...(reportsImages === true ? IMAGE_REPORTS : [])].flatMap(
      ({ verbs, ...object }) => verbs.map((verb) => ({ verb, ...object, namespace })),
    ),
  ]
}

/** Checks the version of the cluster and the permissions of its user. */
export async function checkCluster(kube: Kube, namespace: string, installed: Installed): Promise<Finding[]> {
  try {
    const version = evaluateVersion(await kube.version())
    const hint = 'Install with an account that has it, such as cluster-admin.'
    return [version, ...(await checkRights(kube, neededRights(namespace, installed), hint))]
  } catch (error) {
    if (!isFault(error)) throw error
    return [{ check: 'cluster', status: 'fail', message: error.message, hint: error.hint }]
  }
}

/** Prints the findings. Returns those that failed. */
export function printFindings(findings: readonly Finding[], out: Printer): Finding[] {
  const { style } = out.stderr
  const marks = { pass: style.green('✓'), warn: style.yellow('!'), fail: style.red('✘') }
  for (const { check, status, message, hint } of findings)
    out.note(`${marks[status]} ${check}: ${status === 'pass' || hint === undefined ? message : sentences(message, hint)}`)
  return findings.filter(({ status }) => status === 'fail')
}

/** Prints the findings. Throws `config-invalid` with those that failed. */
export function requirePassed(findings: readonly Finding[], out: Printer): void {
  const failed = printFindings(findings, out)
  if (failed.length === 0) return
  throw fault('config-invalid', {
    message: failed.length === 1 ? (failed[0]?.message ?? '') : `${failed.length} checks failed.`,
    hint: failed[0]?.hint ?? 'Correct what the checks say, then run the command again.',
  })
}
