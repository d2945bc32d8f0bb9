/**
 * What installers of a Runner (command line, chart) need besides agents and runtimes.
 *
 * GET    /v1/agent                     Agent: whose token this is
 * PATCH  /v1/agents/{name}             AgentPatch -> Agent: a rename takes the runtimes along
 * POST   /v1/agents/{name}/token       AgentCreated: a new token; the old one is worth nothing at once
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
import { Id, Name, Time } from './base.ts'

/** Only what is given changes. */
export const AgentPatch = z.strictObject({ name: Name.optional(), runtimes: z.array(Name).max(500).optional() })
export type AgentPatch = z.infer<typeof AgentPatch>

/**
 * A cluster that deploy steps can use; independent of runtimes. Given as a kubeconfig with one context, or as the address, authority and token of
 * a service account.
 */
export const ClusterInput = z
  .strictObject({
    name: Name,
    provider: z.string().min(1).max(60).default('local'),
    /** True when only builds that run inside can reach it: nothing else ever tries to. */
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

/** A PKCS#10 request (PEM; RSA of 2048 bits or more, or an elliptic curve) and the names that the certificate is to carry: `DNS:dind`, `IP:127.0.0.1`. */
export const CertificateRequest = z.strictObject({
  csr: z.string().min(100).max(16_384),
  names: z.array(z.string().min(4).max(260)).min(1).max(50),
})
export type CertificateRequest = z.infer<typeof CertificateRequest>

/** PEM. The authority is the account's: engines prove themselves to the daemon with a certificate of the same one. */
export const SignedCertificate = z.object({ ca: z.string(), certificate: z.string(), expiresAt: Time })
export type SignedCertificate = z.infer<typeof SignedCertificate>

/** What an installer reports (runner specification 6.3); others are taken as they are. */
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
  /** What is installed: name of the runtime or agent. */
  name: z.string().max(150).optional(),
  /** How it was asked for; never secrets. */
  options: z.record(z.string().max(100), z.union([z.string().max(1000), z.number(), z.boolean(), z.null()])).default({}),
})
export type InstallationInput = z.infer<typeof InstallationInput>

export const InstallationEventInput = z.object({
  event: z.string().regex(/^[a-z0-9][a-z0-9-]{0,99}$/, 'must be a word of small letters, digits and -'),
  status: z.enum(['success', 'failure']),
  message: z.string().max(8192).optional(),
})
export type InstallationEventInput = z.infer<typeof InstallationEventInput>

export const Installation = z.object({
  id: Id,
  name: z.string().optional(),
  options: InstallationInput.shape.options,
  /** Ends with the event `finished`, or the first failure. */
  status: z.enum(['running', 'success', 'failure']),
  events: z.array(InstallationEventInput.extend({ at: Time })),
  createdAt: Time,
  updatedAt: Time,
})
export type Installation = z.infer<typeof Installation>
