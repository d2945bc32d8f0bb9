/** The signs by which an answer of the store differs from the page of a load balancer or proxy on the way to it. */

/** The actions of the client, by the names of S3. */
export type S3Action =
  | 'PutObject'
  | 'GetObject'
  | 'DeleteObject'
  | 'ListObjectsV2'
  | 'CreateMultipartUpload'
  | 'UploadPart'
  | 'CompleteMultipartUpload'
  | 'AbortMultipartUpload'

export interface Received {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
}

/** The signs of a success. Maintenance pages often have the status 200. */
const SIGNS: Readonly<Record<S3Action, (answer: Received) => boolean>> = {
  PutObject: isStored,
  // Every call has a range.
  GetObject: ({ status }) => status === 206,
  DeleteObject: isDeleted,
  ListObjectsV2: (answer) => hasElement(answer, 'ListBucketResult'),
  CreateMultipartUpload: (answer) => hasElement(answer, 'InitiateMultipartUploadResult'),
  UploadPart: isStored,
  CompleteMultipartUpload: (answer) => hasElement(answer, 'CompleteMultipartUploadResult'),
  AbortMultipartUpload: isDeleted,
}

/** True if the answer shows that the store has carried out the action. */
export function isOfStore(action: S3Action, answer: Received): boolean {
  return answer.status >= 200 && answer.status < 300 && SIGNS[action](answer)
}

function isStored({ headers }: Received): boolean {
  return headers['etag'] !== undefined
}

/** Some stores answer 200 instead of 204. */
function isDeleted({ status, headers }: Received): boolean {
  return status === 204 || (status === 200 && headers['x-amz-request-id'] !== undefined)
}

/** Looks only at the beginning, because a page of a list may be large. */
function hasElement({ body }: Received, name: string): boolean {
  return body.subarray(0, 65_536).toString().includes(`<${name}`)
}
