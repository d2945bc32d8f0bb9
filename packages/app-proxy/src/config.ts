/** Settings of an app-proxy, from `WINDLASS_APP_PROXY_*` or options of the command. */
import { tmpdir } from 'node:os'
import { fault, nodeTransport, proxyFrom, readConfig, splitList } from '@windlass/kit'
import { LogLevel, Port, ProbePort } from '@windlass/kit/settings'
import { accessOf, openKube } from '@windlass/kube'
import { GitopsRuntimeName, HttpUrl, Id, MAX_CLUSTER_CHUNK } from '@windlass/protocol'
import { z } from 'zod'
import type { AppProxyOptions } from './options.ts'
import { PATH_PREFIX } from './http/route.ts'

/** As long as the router of the runtime. Milliseconds. */
const LINGER_MS = 3_000

/** An origin as browsers send it: scheme, host and port. */
const isOrigin = (text: string): boolean => URL.parse(text)?.origin === text

export const AppProxyConfig = z.object({
  SERVER_URL: HttpUrl.describe('Base URL of the server, the control plane.'),
  SERVER_CA_PATH: z
    .string()
    .optional()
    .describe('PEM file with certificate authorities for the server, besides the default ones.'),
  RUNTIME: GitopsRuntimeName.describe('Name of the GitOps runtime, or of the app-proxy of a Runner.'),
  ACCOUNT_ID: Id.describe('Id of the account of the runtime. Users of other accounts are refused.'),
  TOKEN_PATH: z
    .string()
    .min(1)
    .describe(
      'File with the token of the runtime. It is read again while the app-proxy runs, and Git tokens are encrypted again.',
    ),
  TOKEN_SECRET: z
    .string()
    .max(253)
    .optional()
    .describe(
      'Name of the Secret in the namespace of the runtime that has the token and the random text, with the keys `token` and `encryptionIV`. With it, the status of the runtime says when one of them is lost.',
    ),
  PREVIOUS_TOKEN_PATH: z
    .string()
    .optional()
    .describe('File with the token before it, if the token was replaced while the app-proxy did not run.'),
  STORE_IV: z
    .string()
    .min(16)
    .max(1_000)
    .describe('Random text of at least 16 characters, a part of the key that encrypts Git tokens. Never change it.'),
  CORS: z
    .string()
    .default('')
    .transform(splitList)
    .refine((list) => list.every(isOrigin), 'must be origins such as https://ci.example.com')
    .describe('Origins of pages that may call the app-proxy, separated by commas. Default: that of SERVER_URL.'),
  PATH_PREFIX: z
    .string()
    .max(200)
    .regex(/^(?:\/|(?:\/[\w.~-]+)+)$/, 'must be a path such as /app-proxy, without a slash at its end')
    .default(PATH_PREFIX)
    .describe('Path below which the app-proxy is called; `/` for the root of its host.'),
  REQUIRE_HTTPS: z
    .stringbool()
    .default(false)
    .describe('Refuse calls whose header X-Forwarded-Proto does not say that they came by HTTPS.'),
  GITOPS: z
    .stringbool()
    .default(true)
    .describe('Serve the shared configuration repository and the applications of Argo CD. False for the app-proxy of a Runner.'),
  SINGLE_NAMESPACE: z
    .stringbool()
    .default(false)
    .describe('Refuse what needs other namespaces than that of the runtime: restricted Git sources.'),
  HOSTED: z
    .stringbool()
    .default(false)
    .describe(
      'The runtime is in the cluster of the server: it deploys to managed clusters only, and calls no Services of its cluster. Implies SINGLE_NAMESPACE.',
    ),
  HOST: z.string().default('0.0.0.0').describe('Address to listen on.'),
  PORT: Port.default(8080).describe('Port to listen on; 0 selects a free port.'),
  NAMESPACE: z.string().optional().describe('Namespace of the runtime. Default: that of the pod or of the kubeconfig.'),
  KUBECONFIG: z.string().optional().describe('Path of a kubeconfig. Default: the service account of the pod.'),
  ARGO_CD_URL: HttpUrl.optional().describe(
    'Base URL of the server of Argo CD in the namespace of the runtime. Without it, the objects of applications, their logs and events are not shown.',
  ),
  ARGO_CD_TOKEN_PATH: z
    .string()
    .optional()
    .describe('File with a token of Argo CD. It is read for each call. Required with ARGO_CD_URL.'),
  ARGO_CD_CA_PATH: z
    .string()
    .optional()
    .describe('PEM file with certificate authorities for the server of Argo CD, besides the default ones.'),
  WORKFLOWS: z
    .stringbool()
    .default(false)
    .describe(
      'Operate the workflows of Argo Workflows in the namespace of the runtime. The account of the pod needs rights for it.',
    ),
  WORKFLOW_LOGS_URL: HttpUrl.refine(
    (text) => URL.parse(text)?.pathname === '/',
    'must be an address such as https://minio.example.com:9000',
  )
    .optional()
    .describe(
      'Scheme, host and port of the S3 store with the archived logs of workflows. Without it, logs of deleted pods are not shown.',
    ),
  WORKFLOW_LOGS_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .optional()
    .describe('Bucket of the archived logs. Required with WORKFLOW_LOGS_URL.'),
  WORKFLOW_LOGS_REGION: z
    .string()
    .max(63)
    .regex(/^[a-z0-9-]+$/, 'must be the name of a region')
    .default('us-east-1')
    .describe('Region of the bucket.'),
  WORKFLOW_LOGS_PREFIX: z
    .string()
    .max(512)
    .regex(
      /^(?!\.{1,2}(?:\/|$))[\w.-]+(?:\/(?!\.{1,2}(?:\/|$))[\w.-]+)*$/,
      'must be the begin of a key, without a slash at its ends',
    )
    .optional()
    .describe('Begin of the keys of archived logs, which go on with `/WORKFLOW/POD`. Other keys are not read. Default: RUNTIME.'),
  WORKFLOW_LOGS_ACCESS_KEY_PATH: z
    .string()
    .optional()
    .describe('File with the access key of the bucket. It is read for each call. Required with WORKFLOW_LOGS_URL.'),
  WORKFLOW_LOGS_SECRET_KEY_PATH: z
    .string()
    .optional()
    .describe('File with the secret key of the bucket. It is read for each call. Required with WORKFLOW_LOGS_URL.'),
  IMAGE_REPORT_TEMPLATE: z
    .string()
    .max(63)
    .optional()
    .describe('Name of the WorkflowTemplate that reports images for CI jobs. Needs WORKFLOWS. Default: none.'),
  IMAGE_REPORT_HEARTBEAT_SECONDS: z.coerce
    .number()
    .int()
    .min(1)
    .max(300)
    .default(5)
    .describe('Time between two signs of life for a CI job that waits for its report.'),
  SEALED_SECRETS_URL: HttpUrl.optional().describe(
    'Base URL of the controller of Sealed Secrets in the cluster of the runtime. Without it, logins of registries and Jira cannot be kept in Git.',
  ),
  FORGE_CA_PATH: z
    .string()
    .optional()
    .describe('PEM file with all certificate authorities for forges, for their API and for git. Default: those of the system.'),
  REPOS_DIR: z
    .string()
    .optional()
    .describe('Folder for repositories while a commit is made. Default: that of the system for temporary files.'),
  CLUSTER_CHUNK_SIZE: z.coerce
    .number()
    .int()
    .min(0)
    .max(MAX_CLUSTER_CHUNK)
    .default(50)
    .describe('Clusters in one report of the state of all clusters of Argo CD; 0 for as many as a report may have.'),
  METRICS_PORT: ProbePort.describe('Port for /metrics; 0 selects a free port. Default: none.'),
  LOG_LEVEL: LogLevel,
})
export type AppProxyConfig = z.output<typeof AppProxyConfig>

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the settings. Throws `config-invalid` that lists every invalid key. */
export function readAppProxyConfig(env: Environment): Readonly<AppProxyConfig> {
  return readConfig(AppProxyConfig, env, 'WINDLASS_APP_PROXY_')
}

/** Returns the options, with access to the cluster. Proxies come from the standard variables. Throws `config-invalid`. */
export async function toAppProxyOptions(
  config: AppProxyConfig,
  { environment, ...rest }: Pick<AppProxyOptions, 'clock' | 'log' | 'version' | 'environment'>,
): Promise<AppProxyOptions> {
  const access = await accessOf(config.KUBECONFIG, { environment, setting: 'WINDLASS_APP_PROXY_KUBECONFIG' })
  const proxy = proxyFrom(environment)
  return {
    ...rest,
    environment,
    host: config.HOST,
    port: config.PORT,
    server: { url: config.SERVER_URL, transport: nodeTransport({ caFile: config.SERVER_CA_PATH, proxy, connectMs: 5_000 }) },
    runtime: config.RUNTIME,
    accountId: config.ACCOUNT_ID,
    tokenFile: config.TOKEN_PATH,
    tokenSecret: config.TOKEN_SECRET,
    previousTokenFile: config.PREVIOUS_TOKEN_PATH,
    storeIv: config.STORE_IV,
    origins: config.CORS.length === 0 ? [new URL(config.SERVER_URL).origin] : config.CORS,
    pathPrefix: config.PATH_PREFIX,
    requireHttps: config.REQUIRE_HTTPS,
    servesGitops: config.GITOPS,
    isNamespaced: config.SINGLE_NAMESPACE,
    isHosted: config.HOSTED,
    kube: openKube({ access, log: rest.log, clock: rest.clock }),
    namespace: config.NAMESPACE ?? access.namespace,
    argo: toArgo(config),
    operatesWorkflows: config.WORKFLOWS,
    logArchive: toLogArchive(config),
    sealing: toSealing(config),
    imageReports:
      config.IMAGE_REPORT_TEMPLATE === undefined
        ? undefined
        : { template: config.IMAGE_REPORT_TEMPLATE, heartbeatMs: config.IMAGE_REPORT_HEARTBEAT_SECONDS * 1_000 },
    forgeCaFile: config.FORGE_CA_PATH,
    proxy,
    // Without a kubeconfig this is a pod.
    mayUseLoopback: config.KUBECONFIG !== undefined,
    workFolder: config.REPOS_DIR ?? tmpdir(),
    clusterChunk: config.CLUSTER_CHUNK_SIZE,
    metricsPort: config.METRICS_PORT,
    lingerMs: LINGER_MS,
  }
}

/** Throws `config-invalid` if the URL has no token. The server of Argo CD is in the cluster, so no proxy leads to it. */
function toArgo({
  ARGO_CD_URL: url,
  ARGO_CD_TOKEN_PATH: tokenFile,
  ARGO_CD_CA_PATH: caFile,
}: AppProxyConfig): AppProxyOptions['argo'] {
  if (url === undefined) return undefined
  if (tokenFile === undefined)
    throw fault('config-invalid', {
      message: 'WINDLASS_APP_PROXY_ARGO_CD_TOKEN_PATH is required with WINDLASS_APP_PROXY_ARGO_CD_URL.',
    })
  return { server: { url, transport: nodeTransport({ caFile, connectMs: 5_000 }) }, tokenFile }
}

/** Throws `config-invalid` if a store has no bucket or no keys. */
function toLogArchive({
  RUNTIME: runtime,
  WORKFLOW_LOGS_URL: url,
  WORKFLOW_LOGS_BUCKET: bucket,
  WORKFLOW_LOGS_REGION: region,
  WORKFLOW_LOGS_PREFIX: prefix = runtime,
  WORKFLOW_LOGS_ACCESS_KEY_PATH: accessKeyFile,
  WORKFLOW_LOGS_SECRET_KEY_PATH: secretKeyFile,
}: AppProxyConfig): AppProxyOptions['logArchive'] {
  if (url === undefined) return undefined
  if (bucket === undefined || accessKeyFile === undefined || secretKeyFile === undefined)
    throw fault('config-invalid', {
      message:
        'WINDLASS_APP_PROXY_WORKFLOW_LOGS_BUCKET, WINDLASS_APP_PROXY_WORKFLOW_LOGS_ACCESS_KEY_PATH and WINDLASS_APP_PROXY_WORKFLOW_LOGS_SECRET_KEY_PATH are required with WINDLASS_APP_PROXY_WORKFLOW_LOGS_URL.',
    })
  return { url, bucket, region, prefix, accessKeyFile, secretKeyFile }
}

/** The controller is a Service of the cluster, so no proxy leads to it. */
function toSealing({ SEALED_SECRETS_URL: url }: AppProxyConfig): AppProxyOptions['sealing'] {
  return url === undefined ? undefined : { url, transport: nodeTransport({ proxy: proxyFrom({}), connectMs: 5_000 }) }
}
