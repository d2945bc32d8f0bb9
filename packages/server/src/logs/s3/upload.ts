/** Objects that are sent in several parts. */
import { textOf } from '@windlass/cloud'
import { S3Error, type S3 } from './client.ts'
import { sizeOf } from './get-object.ts'

export interface Upload {
  /** Sends the next part. */
  send(part: Uint8Array): Promise<void>
  /** Makes the object visible with all its parts. */
  complete(): Promise<void>
  /** Discards the parts. Never throws. The store may keep them until its own rule removes them. */
  abort(): Promise<void>
}

/** Begins an object of several parts. Nothing is visible before `complete`. */
export async function openUpload(s3: S3, key: string): Promise<Upload> {
  const headers = s3.address.encryption
  const begun = await s3.call({ action: 'CreateMultipartUpload', method: 'POST', key, query: { uploads: '' }, headers })
  const uploadId = textOf(begun.body.toString(), 'UploadId')
  if (uploadId === undefined) throw new S3Error('S3 CreateMultipartUpload: no upload id', { status: 500, code: 'NoUploadId' })
  const tags: string[] = []
  let bytes = 0

  /** A repeated call finds no upload if the answer to the first one was lost. Then the object has its final size. */
  async function isComplete(): Promise<boolean> {
    return (await sizeOf(s3, key)) === bytes
  }

  return {
    async send(part) {
      const query = { partNumber: String(tags.length + 1), uploadId }
      const sent = await s3.call({ action: 'UploadPart', method: 'PUT', key, query, body: part })
      tags.push(sent.headers['etag'] ?? '')
      bytes += part.byteLength
    },
    async complete() {
      const parts = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`)
      const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)
      const accepts = ['NoSuchUpload']
      const answer = await s3.call({ action: 'CompleteMultipartUpload', method: 'POST', key, query: { uploadId }, body, accepts })
      if (answer.code !== undefined && !(await isComplete()))
        throw new S3Error('S3 CompleteMultipartUpload: NoSuchUpload', { status: answer.status, code: answer.code })
    },
    async abort() {
      await s3.call({ action: 'AbortMultipartUpload', method: 'DELETE', key, query: { uploadId } }).catch(() => undefined)
    },
  }
}
