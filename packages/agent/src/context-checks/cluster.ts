/** Checks a context of type kubernetes: the API of the cluster says whom it takes the credentials of the kubeconfig for. */
import { defined, parseJson } from '@windlass/kit'
import { z } from 'zod'
import type { DialAnswer, Dialer } from './dial.ts'
import { CheckFailure, type Reached } from './outcome.ts'
import type { TlsOptions } from '@windlass/kit'

/** One context, as the server extracts it: without files and programs of another machine. */
const Kubeconfig = z.looseObject({
  clusters: z.tuple([
    z.looseObject({
      cluster: z.looseObject({
        server: z.string(),
        'certificate-authority-data': z.string().optional(),
        'insecure-skip-tls-verify': z.boolean().optional(),
        'tls-server-name': z.string().optional(),
      }),
    }),
  ]),
  users: z.tuple([
    z.looseObject({
      user: z.looseObject({
        token: z.string().optional(),
        username: z.string().optional(),
        password: z.string().optional(),
        'client-certificate-data': z.string().optional(),
        'client-key-data': z.string().optional(),
      }),
    }),
  ]),
})

export interface ClusterLogin {
  readonly url: URL
  readonly tls: TlsOptions
  readonly headers: Readonly<Record<string, string>>
  /** Values that no message may contain. */
  readonly secrets: readonly string[]
}

/** Reads the credentials of a kubeconfig in JSON. Throws `CheckFailure` if it has none. */
export function readClusterLogin(kubeconfig: string): ClusterLogin {
  const parsed = Kubeconfig.safeParse(parseJson(kubeconfig)).data
  const url = URL.parse(parsed?.clusters[0].cluster.server ?? '')
  if (parsed === undefined || url === null)
    throw new CheckFailure('value-invalid', 'The kubeconfig of the context has no cluster or no user.', {
      hint: 'Store the output of `kubectl config view --minify --flatten`.',
    })
  const { cluster } = parsed.clusters[0]
  const { user } = parsed.users[0]
  const { token, username, password } = user
  const basic =
    username === undefined || password === undefined ? undefined : Buffer.from(`${username}:${password}`).toString('base64')
  const authorization = token !== undefined ? `Bearer ${token}` : basic === undefined ? undefined : `Basic ${basic}`
  const key = pemOf(user['client-key-data'])
  return {
    url,
    tls: defined({
      ca: pemOf(cluster['certificate-authority-data']),
      cert: pemOf(user['client-certificate-data']),
      key,
      serverName: cluster['tls-server-name'],
      insecure: cluster['insecure-skip-tls-verify'],
    }),
    headers: defined({ authorization }),
    secrets: [token, password, basic, key].filter((value) => value !== undefined),
  }
}

function pemOf(data: string | undefined): string | undefined {
  return data === undefined ? undefined : Buffer.from(data, 'base64').toString('utf8')
}

const Review = z.looseObject({ status: z.looseObject({ userInfo: z.looseObject({ username: z.string() }) }) })

/** Throws `CheckFailure`. Changes nothing in the cluster: a review is not stored. */
export async function checkCluster({ url, headers }: Pick<ClusterLogin, 'url' | 'headers'>, dialer: Dialer): Promise<Reached> {
  const { host } = url
  const review = async (group: string, kind: string, path: string, spec?: object): Promise<DialAnswer> =>
    dialer.call({
      url: new URL(`${url.href.replace(/\/+$/, '')}/apis/${group}/${path}`),
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: group, kind, ...defined({ spec }) }),
    })
  const self = await review('authentication.k8s.io/v1', 'SelfSubjectReview', 'selfsubjectreviews')
  const name = self.status === 201 ? Review.safeParse(parseJson(self.text)).data?.status.userInfo.username : undefined
  if (name !== undefined && name !== 'system:anonymous')
    return { message: `The API of the cluster at ${host} takes the kubeconfig for ${name}.`, host, identity: name }
  if (self.status === 401 || name !== undefined) throw refused(host)
  // Clusters before Kubernetes 1.28 do not have the call. Every authenticated user may ask for their own rights.
  const spec = { nonResourceAttributes: { path: '/version', verb: 'get' } }
  const access = await review('authorization.k8s.io/v1', 'SelfSubjectAccessReview', 'selfsubjectaccessreviews', spec)
  if (access.status === 201) return { message: `The API of the cluster at ${host} accepts the kubeconfig.`, host }
  if (access.status === 401 || access.status === 403) throw refused(host)
  throw new CheckFailure('unexpected-answer', `${host} answers, but not as the API of a cluster (${access.status}).`, {
    host,
    hint: 'Check the server of the kubeconfig.',
  })
}

function refused(host: string): CheckFailure {
  return new CheckFailure(
    'unauthorized',
    `The API of the cluster at ${host} does not accept the credentials of the kubeconfig.`,
    {
      host,
      hint: 'Store a kubeconfig with a token or a certificate that has not expired.',
    },
  )
}
