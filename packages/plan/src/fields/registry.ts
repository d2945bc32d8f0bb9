/** Fields of actions that use an image registry: credentials, ECR access, image tags. */
import { quote } from './step-fields.ts'
import type { StepFields } from './step-fields.ts'
import type { Template } from './template.ts'

export interface Credentials {
  readonly username: Template
  readonly password: Template
}

/** Cross-account and cross-region access to ECR. */
export interface Aws {
  readonly region?: Template
  readonly roleArn?: Template
  readonly sessionName?: Template
  readonly durationSeconds?: number
  readonly accessKeyId?: Template
  readonly secretAccessKey?: Template
}

export function fillCredentials(
  credentials: Credentials | undefined,
  fields: StepFields,
): { readonly credentials?: Credentials } {
  if (credentials === undefined) return {}
  return {
    credentials: {
      username: fields.required('credentials.username', credentials.username),
      password: fields.required('credentials.password', credentials.password),
    },
  }
}

export function fillAws(aws: Aws | undefined, fields: StepFields): { readonly aws?: Aws } {
  if (aws === undefined) return {}
  return {
    aws: {
      ...fields.optional('region', 'region', aws.region),
      ...fields.optional('roleArn', 'role_arn', aws.roleArn),
      ...fields.optional('sessionName', 'aws_session_name', aws.sessionName),
      ...(aws.durationSeconds !== undefined && { durationSeconds: aws.durationSeconds }),
      ...fields.optional('accessKeyId', 'accessKeyId', aws.accessKeyId),
      ...fields.optional('secretAccessKey', 'secretAccessKey', aws.secretAccessKey),
    },
  }
}

const TAG = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/

/** Substitutes the tags of an image and reports those that no registry accepts. */
export function fillTags(tags: readonly Template[], fields: StepFields, policy: 'lowercase' | 'original' = 'original'): string[] {
  return tags.map((template, index) => {
    const field = tags.length === 1 ? 'tag' : `tags[${index}]`
    const text = fields.required(field, template)
    const tag = policy === 'lowercase' ? text.toLowerCase() : text
    if (text !== '' && !text.includes('${{') && !TAG.test(tag))
      fields.problem(field, `"${field}" is not a valid image tag. Current value: ${quote(template)}`)
    return tag
  })
}
