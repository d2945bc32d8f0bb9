/**
 * The API that installers of a Runner (command line, chart) need besides agents and runtimes.
 *
 * GET    /v1/agent                     Agent: the owner of the token
 * PATCH  /v1/agents/{name}             AgentPatch -> Agent: a rename keeps the runtimes; `runtimes` are all that it serves, and `addRuntimes` and
 *                                      `removeRuntimes` change single ones, whatever others change at the same time
 * DELETE /v1/agents/{name}             ?force=true
 * POST   /v1/agents/{name}/token       AgentCreated: a new token; the old one is revoked immediately
 * GET    /v1/clusters                  page of Cluster
 * POST   /v1/clusters                  ClusterInput -> Cluster
 * GET    /v1/clusters/{name}           Cluster
 * DELETE /v1/clusters/{name}
 * POST   /v1/certificates              CertificateRequest -> SignedCertificate: for the Docker daemons of a namespace
 * POST   /v1/installations             InstallationInput -> Installation
 * GET    /v1/installations             page of Installation, newest first
 * GET    /v1/installations/{id}        Installation
 * POST   /v1/installations/{id}/events InstallationEventInput -> Installation
 */
import { z } from 'zod'
import { Id, Name, Time } from '../base.ts'

const Runtimes = z.array(Name).max(500).optional()

/** Changes only the given fields. */
export const AgentPatch = z
  .strictObject({
    name: Name.optional(),
    /** All runtimes that the agent serves from now on. */
    runtimes: Runtimes,
    /** Runtimes that the agent serves in addition to its others. */
    addRuntimes: Runtimes,
    /** Runtimes that the agent does not serve any more. */
    removeRuntimes: Runtimes,
  })
  .refine(
    ({ runtimes, addRuntimes, removeRuntimes }) => runtimes === undefined || (addRuntimes ?? removeRuntimes) === undefined,
    {
      message: 'must have either runtimes, or addRuntimes and removeRuntimes',
    },
  )
  .refine(({ addRuntimes = [], removeRuntimes = [] }) => addRuntimes.every((name) => !removeRuntimes.includes(name)), {
    message: 'must not both add and remove a runtime',
  })
export type AgentPatch = z.infer<typeof AgentPatch>

/** Query of DELETE. `force` declares the cluster of the agent permanently gone: its attempts are lost, and their objects count as deleted. */
export const AgentRemoval = z.object({ force: z.stringbool().optional() })

/**
 * A cluster that deploy steps can use; independent of runtimes. Either a kubeconfig with one context, or the address, CA and token of a service
 * account.
 */
export const ClusterInput = z
  .strictObject({
    name: Name,
    provider: z.string().min(1).max(60).default('local'),
    /** True if only builds inside the network can reach the cluster. Nothing else connects to it. */
    behindFirewall: z.boolean().default(false),
    kubeconfig: z.string().max(1_048_576).optional(),
    server: z.url().max(500).optional(),
    /** PEM. */
    ca: z.string().max(100_000).optional(),
    token: z.string().min(1).max(20_000).optional(),
    namespace: z.string().max(63).optional(),
  })
  .refine(({ kubeconfig, server, token }) => (kubeconfig === undefined) === (server !== undefined && token !== undefined), {
    message: 'must have a kubeconfig, or server and token',
  })
export type ClusterInput = z.infer<typeof ClusterInput>

export const Cluster = z.object({
  id: Id,
  name: z.string(),
  provider: z.string(),
  behindFirewall: z.boolean(),
  createdAt: Time,
  updatedAt: Time,
})
export type Cluster = z.infer<typeof Cluster>

/**
 * A PKCS#10 request (PEM; RSA with at least 2048 bits, or an elliptic curve) and the subject alternative names of the certificate: `DNS:dind`,
 * `IP:127.0.0.1`. `days` is the validity. Default: three years, for installers that do not renew the certificate.
 */
export const CertificateRequest = z.strictObject({
  csr: z.string().min(100).max(16_384),
  names: z.array(z.string().min(4).max(260)).min(1).max(50),
  days: z.int().min(1).max(1095).optional(),
})
export type CertificateRequest = z.infer<typeof CertificateRequest>

/** PEM. The CA belongs to the account and also signs the client certificates that engines present to the daemon. */
export const SignedCertificate = z.object({ ca: z.string(), certificate: z.string(), expiresAt: Time })
export type SignedCertificate = z.infer<typeof SignedCertificate>

/** Events that installers report. Other names are accepted too. */
export const INSTALLATION_EVENTS = [
  'acceptance-tests-ran',
  'agent-created',
  'agent-installed',
  'runtime-installed',
  'cluster-integration-added',
  'app-proxy-installed',
  'agent-updated',
  'runner-installed',
  'monitor-installed',
  'demo-pipeline-created',
  'demo-pipeline-executed',
  'finished',
] as const

export const InstallationInput = z.object({
  /** Name of the runtime or agent that is installed. */
  name: z.string().max(150).optional(),
  /** Options of the installer, without secrets. */
  options: z.record(z.string().max(100), z.union([z.string().max(1000), z.number(), z.boolean(), z.null()])).default({}),
})
export type InstallationInput = z.infer<typeof InstallationInput>

export const InstallationEventInput = z.object({
  event: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9-]{0,99}$/,
      'must start with a lower-case letter or digit and contain only lower-case letters, digits and -',
    ),
  status: z.enum(['success', 'failure']),
  message: z.string().max(8192).optional(),
})
export type InstallationEventInput = z.infer<typeof InstallationEventInput>

export const Installation = z.object({
  id: Id,
  name: z.string().optional(),
  options: InstallationInput.shape.options,
  /** Final after the event `finished` or the first failure. */
  status: z.enum(['running', 'success', 'failure']),
  events: z.array(InstallationEventInput.extend({ at: Time })),
  createdAt: Time,
  updatedAt: Time,
})
export type Installation = z.infer<typeof Installation>
