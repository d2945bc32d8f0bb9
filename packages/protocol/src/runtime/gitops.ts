/**
 * GitOps runtimes: installations of Argo CD in clusters of users. A tunnel makes the runtime of a cluster reachable that nobody can connect to; its client connects
 * with a token of the runtime (docs/development/adr/0125-tunnel.md).
 */
import { z } from 'zod'
import type { Right } from '../access/roles.ts'
import { Id, Time } from '../base.ts'

/** Together with the id of the account it is a label of a host, which has at most 63 characters. */
export const GitopsRuntimeName = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,36}[a-z0-9])?$/,
    'must have at most 38 lower-case letters, digits and -, and begin and end with a letter or digit',
  )

/** Forges as public clients of GitOps runtimes name them. */
export const GIT_PROVIDERS = ['BITBUCKET', 'BITBUCKET_SERVER', 'GERRIT', 'GITEA', 'GITHUB', 'GITLAB'] as const

/** A token of a runtime. Its secret is shown once. */
export const GitopsToken = z.object({
  id: Id,
  runtime: GitopsRuntimeName,
  createdBy: z.string(),
  createdAt: Time,
})
export type GitopsToken = z.infer<typeof GitopsToken>

export const GitopsTokenCreated = GitopsToken.extend({
  token: z.string(),
  /** Where callers reach the runtime; absent if the server has no domain for tunnels. */
  url: z.string().optional(),
  /** Base URL that the tunnel client connects to; absent like `url`. */
  registerUrl: z.string().optional(),
})
export type GitopsTokenCreated = z.infer<typeof GitopsTokenCreated>

/** `connecting`: the client is welcome and has not answered yet. `stale`: it did not answer when it should have. `offline`: it is not connected. */
export const TUNNEL_STATUSES = ['connecting', 'online', 'stale', 'offline'] as const
export type TunnelStatus = (typeof TUNNEL_STATUSES)[number]

/** The tunnel of a GitOps runtime in `/v1`. The times and the client are those of the last connection. */
export const Tunnel = z.object({
  /** Id of the runtime. */
  id: Id,
  runtime: GitopsRuntimeName,
  status: z.enum(TUNNEL_STATUSES),
  /** Where callers reach the runtime; absent if the server has no domain for tunnels. */
  url: z.string().optional(),
  clientVersion: z.string().optional(),
  /** Address of the client. */
  address: z.string().optional(),
  /** Id of the server that has the connection. */
  server: z.string().optional(),
  /** Id of the token that the client uses. */
  token: Id.optional(),
  connectedAt: Time.optional(),
  /** Last answer of the client, or the end of the connection. */
  seenAt: Time.optional(),
  createdBy: z.string(),
  createdAt: Time,
})
export type Tunnel = z.infer<typeof Tunnel>

/** The rights that an app-proxy asks for. */
export const GITOPS_RIGHTS = ['see-gitops', 'change-gitops', 'manage-gitops'] as const satisfies readonly Right[]
export type GitopsRight = (typeof GITOPS_RIGHTS)[number]

/** The question of an app-proxy: what may the caller do at this runtime? The token of the runtime shows that the app-proxy is the one of the runtime. */
export const GitopsAccessQuestion = z.strictObject({ runtimeToken: z.string().min(1).max(300) })

/** What the owner of a credential may do at a GitOps runtime. */
export const GitopsAccess = z.object({
  accountId: Id,
  runtime: GitopsRuntimeName,
  /** The user or service account, or the key itself if it has no owner. */
  user: z.object({ id: Id, name: z.string() }),
  /** Names of rights; an app-proxy ignores those that it does not know. */
  rights: z.array(z.string()),
  /** True for a key that is limited to `gitops:read`. */
  isReadOnly: z.boolean(),
})
export type GitopsAccess = z.infer<typeof GitopsAccess>

/** PostgreSQL stores no NUL. */
const plainText = (max: number): z.ZodString =>
  z
    .string()
    .max(max)
    .refine((text) => !text.includes('\0'), 'must have no NUL')

/** A call that a user makes at an app-proxy and that changes something. It is announced before its effect, with the token of the user. */
export const GitopsCallStart = GitopsAccessQuestion.extend({
  /** Of the app-proxy, a new one for each call. */
  id: Id,
  right: z.enum(GITOPS_RIGHTS),
  /** Method and route below the host of the runtime: `POST /app-proxy/api/applications/{name}/sync`. */
  action: plainText(200).regex(/^(?:DELETE|PATCH|POST|PUT) (?:\/\S*)?\/api\/\S+$/),
  /** Path of the call, without its query. */
  path: plainText(1_000).startsWith('/'),
  requestId: plainText(100).min(1),
  /** `User-Agent` of the caller. */
  client: plainText(300).optional(),
})
export type GitopsCallStart = z.infer<typeof GitopsCallStart>

/** `nothing`: the call changed nothing, because its input was not valid or it was only to show what it would do. The audit log does not have it. */
export const GITOPS_CALL_RESULTS = ['done', 'denied', 'failed', 'nothing'] as const

/** How such a call has ended, with the token of the runtime. Fields that a later app-proxy adds are ignored, because an end that is refused has no record. */
export const GitopsCallEnd = z.object({
  result: z.enum(GITOPS_CALL_RESULTS),
  /** Code of the error. */
  code: plainText(60).optional(),
  /** What changed: the object, and the commits that were made. */
  detail: plainText(500).optional(),
  /** True for a call that has changed something before it failed, so that no limit of failures keeps it from the audit log. */
  hasEffect: z.literal(true).optional(),
})
export type GitopsCallEnd = z.infer<typeof GitopsCallEnd>
