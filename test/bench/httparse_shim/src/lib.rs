// httparse with a C interface: bytes and a length in; the bytes of the head and its number of fields out.
// 0 bytes: refused or incomplete. The table of 256 fields is on the stack, uninitialised, as the crate's own
// benchmark has it.
use std::mem::MaybeUninit;

#[no_mangle]
pub unsafe extern "C" fn httparse_request(p: *const u8, len: usize, fields: *mut usize) -> usize {
    let mut table: [MaybeUninit<httparse::Header>; 256] = MaybeUninit::uninit().assume_init();
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(std::slice::from_raw_parts(p, len), &mut table) {
        Ok(httparse::Status::Complete(n)) => {
            *fields = request.headers.len();
            n
        }
        _ => 0,
    }
}

#[no_mangle]
pub unsafe extern "C" fn httparse_response(p: *const u8, len: usize, fields: *mut usize) -> usize {
    let mut table: [MaybeUninit<httparse::Header>; 256] = MaybeUninit::uninit().assume_init();
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    match config.parse_response_with_uninit_headers(&mut response, std::slice::from_raw_parts(p, len), &mut table) {
        Ok(httparse::Status::Complete(n)) => {
            *fields = response.headers.len();
            n
        }
        _ => 0,
    }
}

#[no_mangle]
pub unsafe extern "C" fn httparse_fields(p: *const u8, len: usize, fields: *mut usize) -> usize {
    let mut table = [httparse::EMPTY_HEADER; 256];
    match httparse::parse_headers(std::slice::from_raw_parts(p, len), &mut table) {
        Ok(httparse::Status::Complete((n, headers))) => {
            *fields = headers.len();
            n
        }
        _ => 0,
    }
}
