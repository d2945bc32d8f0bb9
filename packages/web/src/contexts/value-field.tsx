/** A field of a context that is not secret. */
import { isYamlContext, type ContextInput } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Field, TextArea } from '../parts/forms/field.tsx'
import type { DraftField } from './draft.ts'

/** Fields with several lines. */
export const LONG_FIELDS: ReadonlySet<string> = new Set(['sshPrivateKey', 'sshKnownHosts', 'kubeconfig'])

/** Words for fields whose names do not say what they hold. */
const HINTS: Readonly<Record<string, string>> = {
  domain: 'Host of the registry, such as registry.example.com',
  repositoryPrefix: 'Put before the names of images',
  primary: 'true for the registry whose login builds use by default',
  behindFirewall: 'true if only agents reach the cluster',
  mount: 'Mount of the engine. Empty: secret',
  resourceName: 'Instead of a URL: a Secret or ConfigMap of the cluster that builds run in',
  resourceType: 'secret or configmap',
  runtime: 'Runtimes in whose cluster it is. * for all',
  oauthForge: 'Only for a token of an OAuth app',
}

interface ValueFieldProps {
  readonly type: ContextInput['type']
  readonly field: DraftField
  readonly onChange: (value: string) => void
}

export function ValueField({ type, field, onChange }: ValueFieldProps): ReactElement {
  const { name, value, isNamed } = field
  const label = isNamed ? 'Value' : name
  if (LONG_FIELDS.has(name) || isYamlContext(type) || value.includes('\n'))
    return (
      <TextArea
        label={isYamlContext(type) ? `${label}, as JSON or text` : label}
        rows={isYamlContext(type) ? 3 : 5}
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    )
  return (
    <Field
      label={label}
      hint={isNamed ? undefined : HINTS[name]}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}
