/** Files of applications in Git sources: new ones, and changes of those that people have written. */
import { splitRepositoryUrl, type ApplicationFields, type GitSource } from '@windlass/protocol'
import { editsOfFields } from './application-fields.ts'
import { editDocument, valueOf } from './application-documents.ts'
import { problemsInGitSource, type ApplicationHome } from './application-limits.ts'
import { checkApplication, type ManifestProblem } from './check-application.ts'
import { matchesGlob } from './glob.ts'
import { IN_CLUSTER_SERVER, type RuntimePlace } from './runtime-files.ts'
import { toYaml } from './yaml.ts'

export type ApplicationText =
  | { readonly text: string; readonly problems?: undefined }
  | { readonly problems: readonly ManifestProblem[] }

/** Returns the file of a new application with the fields of a form. */
export function newApplicationText(name: string, fields: ApplicationFields, home: ApplicationHome): ApplicationText {
  const { server, cluster } = fields
  const head = toYaml({ apiVersion: 'argoproj.io/v1alpha1', kind: 'Application', metadata: { name, namespace: home.namespace } })
  const isElsewhere = (server ?? '') !== '' || (cluster ?? '') !== ''
  return withFields(head, {
    ...fields,
    project: fields.project ?? home.project,
    revision: fields.revision ?? (fields.chart === undefined ? 'HEAD' : undefined),
    ...(!isElsewhere && { server: IN_CLUSTER_SERVER }),
  })
}

/** Returns a document with the fields of a form. Everything else stays. */
export function withFields(text: string, fields: ApplicationFields): ApplicationText {
  const found = editsOfFields(valueOf(text), fields)
  if (found.problems !== undefined) return found
  const edited = editDocument(text, found.edits)
  if (edited !== undefined) return { text: edited }
  return {
    problems: [
      { message: 'The manifest has something else where a field of the form belongs.', hint: 'Change the manifest as a text.' },
    ],
  }
}

/** Returns why a document cannot be the application of this name in a Git source. `namespace`: that of the runtime. */
export function problemsOfApplication(
  text: string,
  name: string,
  { source, place }: { readonly source: GitSource; readonly place: RuntimePlace },
): readonly ManifestProblem[] {
  const checked = checkApplication(text)
  if (checked.problems !== undefined) return checked.problems
  const { application } = checked
  const renamed =
    application.metadata.name === name
      ? []
      : [
          {
            path: 'metadata.name',
            message: `The manifest is that of the application ${application.metadata.name}, not of ${name}.`,
            hint: 'A name never changes: create another application.',
          },
        ]
  return [...renamed, ...problemsInGitSource(application, source, place)]
}

/** Returns why Argo CD would not apply a file of a Git source; undefined if it would. `file`: from the folder of the source. */
export function problemOfFile(file: string, { include = '*', exclude }: GitSource): string | undefined {
  if (!/\.ya?ml$/.test(file)) return 'must end with .yaml or .yml'
  if (include !== '' && !matchesGlob(include, file)) return `is not one of those that the Git source includes: ${include}`
  if (exclude !== undefined && exclude !== '' && matchesGlob(exclude, file))
    return `is one of those that the Git source excludes: ${exclude}`
  return undefined
}

/** Returns the path of a file in the repository of a Git source. */
export function pathInRepository({ repository }: GitSource, file: string): string {
  const { path } = splitRepositoryUrl(repository)
  return path === '' ? file : `${path}/${file}`
}
