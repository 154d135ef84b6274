#![deny(warnings, unsafe_op_in_unsafe_fn)]

#[tracer_sdk::trace]
pub unsafe fn sync(pointer: *const u8) -> u8 {
    unsafe { *pointer }
}

#[tracer_sdk::trace(tool)]
pub async unsafe fn awaited(pointer: &u8) -> u8 {
    *pointer
}

#[tracer_sdk::trace]
pub unsafe extern "C" fn foreign(pointer: *mut u8) {
    unsafe { *pointer += 1 };
}

fn main() {}
