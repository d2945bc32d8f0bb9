/** The variables that configure the cache of a new runner, as those of the original. */
import { fault } from '@windlass/kit'
import type { TomlTable, TomlValue } from 'smol-toml'

/** Keys of `[runners.cache]` by their variables, with the table and the type of each. */
const VARIABLES: Readonly<Record<string, readonly [table: string, key: string, type: 'text' | 'boolean' | 'count']>> = {
  CACHE_TYPE: ['', 'Type', 'text'],
  CACHE_PATH: ['', 'Path', 'text'],
  CACHE_SHARED: ['', 'Shared', 'boolean'],
  CACHE_MAXIMUM_UPLOADED_ARCHIVE_SIZE: ['', 'MaxUploadedArchiveSize', 'count'],
  CACHE_S3_SERVER_ADDRESS: ['s3', 'ServerAddress', 'text'],
  CACHE_S3_ACCESS_KEY: ['s3', 'AccessKey', 'text'],
  CACHE_S3_SECRET_KEY: ['s3', 'SecretKey', 'text'],
  CACHE_S3_SESSION_TOKEN: ['s3', 'SessionToken', 'text'],
  CACHE_S3_BUCKET_NAME: ['s3', 'BucketName', 'text'],
  CACHE_S3_BUCKET_LOCATION: ['s3', 'BucketLocation', 'text'],
  CACHE_S3_INSECURE: ['s3', 'Insecure', 'boolean'],
  CACHE_S3_AUTHENTICATION_TYPE: ['s3', 'AuthenticationType', 'text'],
  CACHE_S3_SERVER_SIDE_ENCRYPTION: ['s3', 'ServerSideEncryption', 'text'],
  CACHE_S3_SERVER_SIDE_ENCRYPTION_KEY_ID: ['s3', 'ServerSideEncryptionKeyID', 'text'],
  CACHE_S3_DUAL_STACK: ['s3', 'DualStack', 'boolean'],
  CACHE_S3_ACCELERATE: ['s3', 'Accelerate', 'boolean'],
  CACHE_S3_PATH_STYLE: ['s3', 'PathStyle', 'boolean'],
  CACHE_S3_ROLE_ARN: ['s3', 'RoleARN', 'text'],
  CACHE_S3_UPLOAD_ROLE_ARN: ['s3', 'UploadRoleARN', 'text'],
  CACHE_GCS_ACCESS_ID: ['gcs', 'AccessID', 'text'],
  CACHE_GCS_PRIVATE_KEY: ['gcs', 'PrivateKey', 'text'],
  GOOGLE_APPLICATION_CREDENTIALS: ['gcs', 'CredentialsFile', 'text'],
  CACHE_GCS_BUCKET_NAME: ['gcs', 'BucketName', 'text'],
  CACHE_GCS_UNIVERSE_DOMAIN: ['gcs', 'UniverseDomain', 'text'],
  CACHE_AZURE_ACCOUNT_NAME: ['azure', 'AccountName', 'text'],
  CACHE_AZURE_ACCOUNT_KEY: ['azure', 'AccountKey', 'text'],
  CACHE_AZURE_CONTAINER_NAME: ['azure', 'ContainerName', 'text'],
  CACHE_AZURE_STORAGE_DOMAIN: ['azure', 'StorageDomain', 'text'],
}

/** Booleans as `strconv.ParseBool` of Go reads them, which reads those of the original. */
const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])
const FALSE: ReadonlySet<string> = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False'])

/** Returns the keys of `[runners.cache]` that variables set; empty variables set none. Throws `variable-invalid`. */
export function cacheFromVariables(env: Readonly<Record<string, string | undefined>>): TomlTable {
  const cache: TomlTable = {}
  const tables: Record<string, TomlTable> = { '': cache }
  for (const [name, [table, key, type]] of Object.entries(VARIABLES)) {
    const text = env[name] ?? ''
    if (text === '') continue
    const into = (tables[table] ??= {})
    if (table !== '') cache[table] = into
    into[key] = valueOf(name, text, type)
  }
  return cache
}

function valueOf(name: string, text: string, type: 'text' | 'boolean' | 'count'): TomlValue {
  if (type === 'text') return text
  if (type === 'boolean') {
    if (TRUE.has(text)) return true
    if (FALSE.has(text)) return false
    throw fault('variable-invalid', { message: `${name} must be "true" or "false", not "${text}".`, hint: `Correct ${name}.` })
  }
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw fault('variable-invalid', { message: `${name} must be a whole number, not "${text}".`, hint: `Correct ${name}.` })
}
