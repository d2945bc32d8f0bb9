/** Certificates for the connection to the coordinator, read from files that may change while the runner runs. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fault, hasCode, hostOf, secureContextWith, type TlsOptions } from '@windlass/kit'

export interface TlsFileOptions {
  /** URL of the GitLab server. */
  readonly url: string
  /** `tls-ca-file`, `tls-cert-file` and `tls-key-file` of the runner entry. Empty: the files of the folder. */
  readonly caFile?: string | undefined
  readonly certFile?: string | undefined
  readonly keyFile?: string | undefined
  /** Folder with `<host>.crt`, `<host>.auth.crt` and `<host>.auth.key`, where the host has no port. */
  readonly certsFolder?: string | undefined
}

/** The files as text. Undefined: absent. */
export interface TlsFiles {
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
}

export interface TlsSource {
  /** Options for `openCoordinator`. The same object until a file has changed. Throws `config-invalid` if a configured file cannot be read. */
  options(): TlsOptions
  /** The files themselves, for git and the helper of a job. */
  files(): TlsFiles
}

/** Opens the certificates of a runner entry. Authorities of the files are trusted in addition to those of the system. */
export function openTlsSource({ url, caFile, certFile, keyFile, certsFolder }: TlsFileOptions): TlsSource {
  const host = hostOf(new URL(url))
  const paths = [fileOf(caFile, `${host}.crt`), fileOf(certFile, `${host}.auth.crt`), fileOf(keyFile, `${host}.auth.key`)]
  let current: { readonly stamp: string; readonly files: TlsFiles; readonly options: TlsOptions } | undefined

  function fileOf(configured: string | undefined, name: string): SourceFile | undefined {
    if (configured !== undefined && configured !== '') return { path: configured, isRequired: true }
    return certsFolder === undefined || certsFolder === '' ? undefined : { path: join(certsFolder, name), isRequired: false }
  }

  function load(): { readonly files: TlsFiles; readonly options: TlsOptions } {
    const stamp = paths.map((file) => (file === undefined ? '' : stampOf(file))).join()
    if (current?.stamp === stamp) return current
    const [ca, cert, key] = paths.map((file) => (file === undefined ? undefined : readFile(file)))
    const files = { ca, cert, key }
    current = { stamp, files, options: contextOf(files) }
    return current
  }

  return { options: () => load().options, files: () => load().files }
}

interface SourceFile {
  readonly path: string
  /** True if the configuration names the file. */
  readonly isRequired: boolean
}

function contextOf({ ca, cert, key }: TlsFiles): TlsOptions {
  if (ca === undefined && cert === undefined) return {}
  try {
    return {
      context: secureContextWith({
        minVersion: 'TLSv1.2',
        ...(ca !== undefined && { ca }),
        ...(cert !== undefined && key !== undefined && { cert, key }),
      }),
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw fault('config-invalid', { message: `The certificates of the runner are not valid PEM files: ${why}.` }, error)
  }
}

/** Returns what changes with the file. */
function stampOf(file: SourceFile): string {
  return (
    orAbsent(file, () => {
      const { mtimeMs, size, ino } = statSync(file.path)
      return `${mtimeMs}/${size}/${ino}`
    }) ?? 'absent'
  )
}

function readFile(file: SourceFile): string | undefined {
  return orAbsent(file, () => readFileSync(file.path, 'utf8'))
}

function orAbsent<T>({ path, isRequired }: SourceFile, read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!isRequired && hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw fault(
      'config-invalid',
      { message: `The certificate file ${path} cannot be read.`, hint: 'Check the path and the mode of the file.' },
      error,
    )
  }
}
