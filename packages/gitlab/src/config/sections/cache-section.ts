/** The cache of jobs in an object store. Its keys are written in CamelCase, as in the configuration of GitLab. */
import { z } from 'zod'
import { bool, text } from '../fields.ts'

export const CacheSection = z.object({
  Type: z.enum(['', 's3', 'gcs', 'azure']).optional(),
  Path: text.optional(),
  Shared: bool.optional(),
  /** Bytes; 0 has no limit. */
  MaxUploadedArchiveSize: z.int().min(0).optional(),
  s3: z
    .object({
      ServerAddress: text.optional(),
      AccessKey: text.optional(),
      SecretKey: text.optional(),
      SessionToken: text.optional(),
      BucketName: text.optional(),
      BucketLocation: text.optional(),
      Insecure: bool.optional(),
      AuthenticationType: z.enum(['', 'access-key', 'iam']).optional(),
      ServerSideEncryption: z.enum(['', 'S3', 'KMS', 'DSSE-KMS']).optional(),
      ServerSideEncryptionKeyID: text.optional(),
      DualStack: bool.optional(),
      Accelerate: bool.optional(),
      PathStyle: bool.optional(),
      RoleARN: text.optional(),
      UploadRoleARN: text.optional(),
      AssumeRoleMaxConcurrency: z.int().min(-1).optional(),
    })
    .optional(),
  gcs: z
    .object({
      AccessID: text.optional(),
      PrivateKey: text.optional(),
      CredentialsFile: text.optional(),
      BucketName: text.optional(),
      UniverseDomain: text.optional(),
    })
    .optional(),
  azure: z
    .object({
      AccountName: text.optional(),
      AccountKey: text.optional(),
      ContainerName: text.optional(),
      StorageDomain: text.optional(),
    })
    .optional(),
})
export type CacheSection = z.infer<typeof CacheSection>
