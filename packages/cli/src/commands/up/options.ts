/** Options of `up`. */
import { flag, integer, text } from '../../command.ts'

export const DEFAULT_PORT = 7400

export const upOptions = {
  port: integer('--port <port>', `Port to listen on (default: ${DEFAULT_PORT})`),
  host: text('--host <address>', 'Address to listen on (default: 127.0.0.1)'),
  advertise: text(
    '--advertise <url>',
    'URL at which clusters and users reach the server, such as http://10.0.0.5:7400; saved for the next start, `none` removes it',
  ),
  data: text('--data <folder>', 'Data folder (default: ~/.local/share/windlass)'),
  postgres: text(
    '--postgres <url>',
    'PostgreSQL database (default: SQLite in the data folder); set WINDLASS_POSTGRES instead to keep a password off the command line',
  ),
  logs: text('--logs <place>', 'Where logs are stored: a folder or s3://BUCKET/PREFIX (default: in the data folder)'),
  detach: flag('--detach', 'Return when the server is ready and leave it running'),
  stop: flag('--stop', 'Stop the server of this data folder'),
}
