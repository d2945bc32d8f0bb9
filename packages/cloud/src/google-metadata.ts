/** The metadata server of Google: it knows the service account of a node, or that of a pod with Workload Identity. */
import type { Clock } from '@windlass/kit'
import { z } from 'zod'
import { callCloud, readJsonError } from './call-cloud.ts'

export interface MetadataOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** Base URL of the metadata server, overridden in tests. Default: `GCE_METADATA_HOST`, as the tools of Google read it, or that of Google. */
  readonly metadataUrl?: string
}

/** A token as Google answers it; `expires_in` is in seconds. */
export const GoogleToken = z.looseObject({ access_token: z.string(), expires_in: z.number() })

/** Returns a value by its path below `/computeMetadata/v1`. Throws as `callCloud`. */
export function askMetadata({ env, clock, metadataUrl }: MetadataOptions, path: string, signal: AbortSignal): Promise<string> {
  const base = metadataUrl ?? `http://${env['GCE_METADATA_HOST'] ?? 'metadata.google.internal'}`
  const request = { method: 'GET', url: `${base}/computeMetadata/v1${path}`, headers: { 'metadata-flavor': 'Google' } }
  const call = { provider: 'Google metadata', action: path, request, readError: readJsonError, isMetadata: true }
  return callCloud(clock, call, signal)
}
