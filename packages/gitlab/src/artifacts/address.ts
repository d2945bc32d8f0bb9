/** The artifacts of a job at GitLab. */
import type { Clock } from '@windlass/kit'
import { apiAddress } from '../coordinator/address.ts'
import type { Environment } from '../helper/transfer.ts'

/** What an upload and a download of artifacts need. */
export interface ArtifactsCall {
  /** URL of the GitLab server. */
  readonly url: string
  /** The job that has the artifacts, and its token. */
  readonly jobId: string
  readonly token: string
  /** Folder of the project. */
  readonly folder: string
  readonly env: Environment
  readonly clock: Clock
  readonly say: (line: string) => void
}

/** Returns the address. Throws `config-invalid` if the URL of the server is not one of HTTP. */
export function artifactsAddress({ url, jobId }: Pick<ArtifactsCall, 'url' | 'jobId'>): URL {
  return new URL(`jobs/${encodeURIComponent(jobId)}/artifacts`, apiAddress(url).base)
}
